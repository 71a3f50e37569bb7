"""A release in a Python session: one line, a summary of 80 columns, a card of a notebook."""

import math
import textwrap
from collections.abc import Iterator

from markupsafe import Markup

from discreet.notebook import card, facts, paragraph, table
from discreet.release import CoefficientRecord, Release
from discreet.report import estimates, request_facts
from discreet.report.chance_words import TELLS_NOTHING, sentences
from discreet.report.clip_words import clipped_in_brief
from discreet.report.promise import promised
from discreet.report.standalone import pictures_of
from discreet.report.table import coefficient_table
from discreet.report.vocabulary import METHODS
from discreet.report.widths import cells, squeezed
from discreet.report.words import alike, at_least, at_most, count, listed, number, visible

WIDTH = 80
MOST_NAMED = 8
PICTURES = ("coefficients", "sizes")
"""Of a release's pictures those of its answer."""

Fact = tuple[str, str]


def line(release: Release) -> str:
    """Return what a release is, in one line."""
    record, target = promised(release), request_facts.target(release)
    cost = "not private"
    if record is not None:
        cost = f"epsilon {at_most(record.epsilon)}, delta {at_most(record.delta)}"
    return f"<Release {visible(release.method)}: {visible(target)} on {_named(release)}; {cost}>"


def summary(release: Release) -> str:
    """Return facts, the answer and notes, between lines, as statistical software prints a regression."""
    double, single = "=" * WIDTH, "-" * WIDTH
    lines = [squeezed(_title(release), WIDTH).center(WIDTH).rstrip(), double, *_in_pairs(_facts(release)), double]
    if release.fit is not None and release.fit.has_intervals:
        head, *rows = _coefficients(release)
        widths = [0, *(max(cells(row[at]) for row in (head, *rows)) for at in range(1, len(head)))]
        widths[0] = WIDTH - sum(widths) - 2 * (len(head) - 1)
        lines += [_aligned(head, widths), single, *(_aligned(row, widths) for row in rows), double]
    elif release.fit is not None:
        lines += [coefficient_table(release, WIDTH), double]
    else:
        lines += [*_wrapped(f"Selected: {visible(', '.join(release.selected) or 'no column')}"), double]
    return "\n".join([*lines, *(row for note in _notes(release) for row in _wrapped(note))])


def html(release: Release) -> str:
    """Return the card of a release: the answer, its picture, the guarantee."""
    parts = [paragraph(text) for text in _notes(release)]
    if release.fit is not None and release.fit.has_intervals:
        head, *rows = _coefficients(release)
        parts.insert(0, table("Coefficients, in the columns' own units", head, rows, range(1, len(head))))
    elif release.fit is not None:
        rows = [
            (estimates.label(coefficient), number(coefficient.estimate, 5)) for coefficient in release.fit.coefficients
        ]
        parts.insert(0, table("Coefficients, in the columns' own units", ("", "coef"), rows, (1,)))
    else:
        parts.insert(0, paragraph(f"Selected: {', '.join(release.selected) or 'no column'}"))
    drawn = pictures_of(release)
    parts += [Markup(drawn[name].svg) for name in PICTURES if name in drawn]  # noqa: S704 - our drawing
    listed_facts = _facts(release)
    # One below the other, first what stands on the left of a printed summary.
    return card(_title(release), *parts, facts("The release", [*listed_facts[0::2], *listed_facts[1::2]]))


def _title(release: Release) -> str:
    name = METHODS.get(release.method.casefold(), release.method).removeprefix("private ")
    kind = "Private" if promised(release) is not None else "NOT PRIVATE:"
    return f"{kind} {visible(name)}"


def _named(release: Release) -> str:
    names = release.selected
    return listed(names) if 0 < len(names) <= MOST_NAMED else f"{count(len(names))} columns"


def _facts(release: Release) -> list[Fact]:
    """What was asked and what it cost, in the order in which they are read: two a line."""
    record, ledger, fit = promised(release), release.provenance.ledger, release.fit
    named = "Columns" if request_facts.kind(release) == "fit" else "Candidates"
    facts_shown = [
        ("Target", visible(request_facts.target(release))),
        ("Epsilon", "none" if record is None else at_most(record.epsilon)),
        (named, count(request_facts.n_candidates(release))),
        ("Delta", "none" if record is None else at_most(record.delta)),
        ("Data set", visible(release.provenance.dataset)),
        ("Protected", "nobody" if record is None else f"a {visible(record.unit)}"),
    ]
    if record is not None:
        facts_shown += [("Neighbors", record.neighboring.value)]
    if release.moments is not None and release.moments.weights is None:
        about = "about " if release.moments.n_rows_variance > 0.0 else ""
        facts_shown += [("Observations", f"{about}{count(round(release.moments.n_rows))}")]
    if ledger is not None:
        facts_shown += [("Spent so far", f"{at_most(ledger.epsilon_spent)} of {at_least(ledger.epsilon_cap)}")]
    if fit is not None and fit.residual_sd is not None:
        facts_shown += [("Residual sd", number(fit.residual_sd, 4))]
    if fit is not None and fit.r_squared is not None:
        facts_shown += [("R-squared", number(fit.r_squared, 3))]
    return facts_shown


def _in_pairs(facts_shown: list[Fact]) -> Iterator[str]:
    half = WIDTH // 2
    texts = [squeezed(f"{name + ':':<14}{value}", half - 2) for name, value in facts_shown]
    for at in range(0, len(texts), 2):
        left, *right = texts[at : at + 2]
        yield (left + " " * (half - cells(left)) + "".join(right)).rstrip()


def _coefficients(release: Release) -> list[tuple[str, ...]]:
    fit = release.fit
    assert fit is not None  # noqa: S101 - both callers ask it
    tail = (1.0 - fit.confidence) / 2.0
    head = ("", "coef", "std err", f"[{tail:.4g}", f"{1.0 - tail:.4g}]", "noise")
    return [head, *(_row(term, release.bse) for term in fit.coefficients)]


def _row(term: CoefficientRecord, errors: dict[str, float]) -> tuple[str, ...]:
    name = visible(estimates.label(term))
    if term.uninformative:
        return (name, number(term.estimate, 4), "", "-inf", "inf", "")
    numbers = [term.estimate, *(end for end in (term.low, term.high) if end is not None)]
    estimate, *ends = alike(numbers, estimates.reach(term))
    low = "-inf" if term.low is None else ends[0]
    high = "inf" if term.high is None else ends[-1]
    share = estimates.share(term)
    error = "" if math.isnan(errors[term.name]) else number(errors[term.name], 3)
    return (name, estimate, error, low, high, "" if math.isnan(share) else f"{round(100.0 * share)}%")


def _wrapped(text: str) -> list[str]:
    return [squeezed(row, WIDTH) for row in textwrap.wrap(text, WIDTH)]


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    name = squeezed(row[0], widths[0])
    numbers = (" " * (width - cells(cell)) + cell for cell, width in zip(row[1:], widths[1:], strict=True))
    return "  ".join([name + " " * (widths[0] - cells(name)), *numbers])


def _notes(release: Release) -> list[str]:
    notes = [] if release.fit is not None and release.method != "run" else list(sentences(release))
    if release.intervals_tell_nothing:
        notes.append(TELLS_NOTHING)
    if release.fit is not None and release.fit.has_intervals:
        notes.append("noise: the share of the variance that is noise for privacy. An infinite end is not known.")
        clipped = clipped_in_brief(release.fit)
        notes += [clipped] if clipped else []
    if request_facts.is_by_fission(release):
        notes.append(
            "Half of the information in the moments selected the columns. The other half gave these intervals, so they "
            "hold after the selection. All of the moments together may select other columns."
        )
    if request_facts.is_by_half(release):
        notes.append(
            "Half of the units selected the columns. The others gave these intervals, so they hold after the selection."
        )
    if request_facts.is_of_selection(release):
        notes.append(
            "The same rows selected the columns, so the level of these intervals is not guaranteed. NoisyMoments and "
            "`discreet run` give intervals that hold after a selection."
        )
    if promised(release) is None:
        notes.append("NOT PRIVATE: no guarantee, for study. It must not leave.")
    return notes
