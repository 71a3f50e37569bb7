"""What a release answers as one plain table, for spreadsheets and statistical software."""

import math
import re
from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement

from discreet.release import FitRecord, MomentsRecord, Release
from discreet.report import estimates, request_facts
from discreet.report.escape import to_cell
from discreet.report.promise import promised
from discreet.report.sizes import is_chosen

Cell = str | float | int | bool | None

_SELECTION = ("column", "selected", "forced")
_FIT = (
    *("name", "column", "level", "estimate", "low", "high", "confidence"),
    *("sampling_standard_error", "privacy_standard_error", "uninformative", "family"),
)
_SIZES = ("size", "columns", "criterion", "r_squared", "r_squared_low", "r_squared_high", "selected")
_SUMS = (
    *("first", "second", "sum", "privacy_standard_error", "n_rows"),
    *("first_center", "first_half_width", "second_center", "second_half_width"),
)
_ORIGIN = (
    *("method", "target", "private", "epsilon", "delta", "neighboring", "unit", "rows_per_unit"),
    *("dataset", "entry", "rows_origin"),
)

_QUOTED = re.compile(r'[",;\t\r\n]|^\s|\s$')


def tidy_csv(release: Release) -> str:
    """Return what a release answers as CSV.

    Numbers have all their digits and a decimal point. Text in which a spreadsheet could find a formula gets a quote in
    front. Cost: linear in the number of rows; moments of k columns have (k + 1) (k + 2) / 2.
    """
    head, rows = _answer(release)
    origin = _origin(release)
    lines: Iterator[tuple[Cell, ...]] = ((*row, *origin) for row in rows)
    return table_csv((*head, *_ORIGIN), lines)


def table_csv(head: Iterable[str], rows: Iterable[Iterable[Cell]]) -> str:
    """Return a table as CSV that spreadsheets and statistical software read alike."""
    return "".join(",".join(map(_written, line)) + "\n" for line in (head, *rows))


def _answer(release: Release) -> tuple[tuple[str, ...], Iterator[tuple[Cell, ...]]]:
    if release.fit is not None:
        beside = ("public_estimate",) if release.hybrid is not None else ()
        return (*_FIT, *beside), _coefficients(release, release.fit)
    if release.by_size:
        return _SIZES, _sizes(release)
    if release.moments is not None and request_facts.kind(release) == "moments":
        return _SUMS, _sums(release.moments, request_facts.target(release))
    return _SELECTION, _selection(release)


def _coefficients(release: Release, fitted: FitRecord) -> Iterator[tuple[Cell, ...]]:
    for coefficient in fitted.coefficients:
        errors = (math.sqrt(coefficient.sampling_variance), math.sqrt(coefficient.privacy_variance))
        figures = (coefficient.low, coefficient.high, fitted.confidence, *errors, coefficient.uninformative)
        interval_figures = figures if fitted.has_intervals else (None,) * len(figures)
        beside = (estimates.public_alone(release, coefficient),) if release.hybrid is not None else ()
        yield (
            coefficient.name,
            coefficient.column,
            coefficient.level,
            coefficient.estimate,
            *interval_figures,
            fitted.family,
            *beside,
        )


def _sizes(release: Release) -> Iterator[tuple[Cell, ...]]:
    for size in sorted(release.by_size, key=lambda record: record.size):
        ends = (size.r_squared, size.r_squared_low, size.r_squared_high)
        yield (size.size, "; ".join(size.columns), size.criterion, *ends, is_chosen(size, release))


def _sums(record: MomentsRecord, target: str) -> Iterator[tuple[Cell, ...]]:
    """Sums over rows of products of two scaled columns; a constant column that is not 1 is made 1."""
    labels = (*record.labels, target)
    scales = [*zip(record.centers, record.half_widths, strict=True), (record.y_center, record.y_bound)]
    units = [record.grid * (record.constant if owner is None else 1.0) for owner in record.owners] + [record.grid]
    sums = [[*row, xy] for row, xy in zip(record.gram, record.xty, strict=True)] + [[*record.xty, record.yty]]
    noise = [[*row, xy] for row, xy in zip(record.gram_variance, record.xty_variance, strict=True)]
    noise += [[*record.xty_variance, record.yty_variance]]
    for i, j in combinations_with_replacement(range(len(labels)), 2):
        unit = units[i] * units[j]
        figures = (sums[i][j] / unit, math.sqrt(noise[i][j]) / unit, record.n_rows)
        yield (labels[i], labels[j], *figures, *scales[i], *scales[j])


def _selection(release: Release) -> Iterator[tuple[Cell, ...]]:
    """The columns that could be selected; those that were, where the others are too many to be listed."""
    selected, forced = set(release.selected), set(request_facts.forced(release))
    for name in dict.fromkeys((*request_facts.candidates(release), *release.selected)):
        yield name, name in selected, name in forced


def _origin(release: Release) -> tuple[Cell, ...]:
    guarantee, ledger = promised(release), release.provenance.ledger
    figures = (release.method, request_facts.target(release), guarantee is not None)
    promise: tuple[Cell, ...] = (None,) * 5
    if guarantee is not None:
        relation, unit = guarantee.neighboring.value, (guarantee.unit, guarantee.rows_per_unit)
        promise = (guarantee.epsilon, guarantee.delta, relation, *unit)
    entry = None if ledger is None else ledger.entry
    return (*figures, *promise, release.provenance.dataset, entry, release.provenance.rows_origin)


def _written(cell: Cell) -> str:
    """A cell of RFC 4180, quoted also where other separators or old software would break it."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    text = to_cell(cell) if isinstance(cell, str) else repr(cell)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
