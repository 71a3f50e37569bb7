"""What a report says, taken from a release and put into short texts; nothing is escaped here."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import InvalidParameterError
from discreet.parameters.by_method import meanings
from discreet.release import STATED, UNSTATED, LedgerRecord, PublicColumn, Release
from discreet.report import chance_words, estimates, hybrids, noise_box, request_facts
from discreet.report.account import standing
from discreet.report.estimates import Fit
from discreet.report.hybrids import Hybrid
from discreet.report.noise_box import Noise, Step
from discreet.report.posteriors import Sure, parts, sure
from discreet.report.price import price
from discreet.report.promise import Promise, promise
from discreet.report.sizes import Size, choice_gap, is_choice_proven, sizes
from discreet.report.table import coefficient_table
from discreet.report.vocabulary import BY_FISSION, BY_HALF, MEANINGS, METHODS, PUBLISHED, WORKINGS
from discreet.report.words import at_least, at_most, count, listed, number, series, setting, thousands

Audience = Literal["board", "analyst", "participant"]


MOST_NAMED = 200
"""Up to so many candidates are named for a board; of more, those that were selected."""


MOST_SHOWN = 12
"""Of a longer list in the parameters of an estimate on public points, only the ends are told."""


@dataclass(frozen=True)
class Column:
    """A column that took part, and what was declared public about it."""

    name: str
    role: str
    type: str
    values: str
    source: str
    description: str


@dataclass(frozen=True)
class Budget:
    """Where the data set's ledger stands, in short texts; `worth` is what a cap on rho stands for."""

    entry: str
    head: str
    currency: str
    worth: str | None
    spent: str
    cap: str
    left: str


@dataclass(frozen=True)
class Sums:
    """Noisy moments in short texts: how many, and the noise's standard deviation in each, for one row of the mean."""

    n_columns: str
    n_numbers: str
    n_rows: str
    n_rows_sd: str | None
    noise: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Facts:
    """Everything that a report says."""

    audience: Audience
    kind: request_facts.Kind
    is_of_selection: bool
    is_by_half: bool
    is_by_fission: bool
    is_private: bool
    is_seeded: bool
    is_stated: bool
    is_unstated: bool
    method: str
    method_words: str | None
    working: str | None
    planned_among: int | None
    planned_reason: str | None
    target: str
    short_target: str
    described_target: str
    study: str | None
    dataset: str
    data: str
    candidates: tuple[tuple[str, bool], ...]
    n_candidates: int
    n_unnamed: int
    is_screening: bool
    chooses_number: bool
    screened: tuple[str, ...]
    chosen: tuple[str, ...]
    headline: str | None
    chance: tuple[str, ...]
    tells_nothing: str | None
    forced: tuple[str, ...]
    settings: tuple[tuple[str, str, str], ...]
    promise: Promise | None
    noise: Noise
    boxed: str | None
    choice: Noise | None
    steps: tuple[Step, ...]
    fit: Fit | None
    fit_text: str
    hybrid: Hybrid | None
    sizes: tuple[Size, ...]
    n_sizes_open: int
    is_choice_proven: bool
    choice_gap: float
    sums: Sums | None
    sure: Sure | None
    parts: tuple[str, ...]
    columns: tuple[Column, ...]
    n_unlisted: int
    sources: str
    not_protected: tuple[str, ...]
    budget: Budget | None
    derived_from: str | None
    event: str | None
    contact: str | None
    release: Release

    @property
    def proofs(self) -> list[tuple[str, list[str]]]:
        """Proofs by their status and readers."""
        read: dict[str, list[str]] = {}
        for claim in self.release.claims:
            readers = " and ".join(claim.read_by) or "nobody other than its author"
            read.setdefault(f"{claim.status}, read by {readers}", []).append(claim.claim)
        return list(read.items())


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a name that is not allowed."""
    if value not in allowed:
        raise InvalidParameterError(
            f"{name} must be one of {', '.join(allowed)}, but {name}={str(value)[:40]!r}. Choose one of them."
        )


def gather(release: Release, audience: Audience, n_listed: int | None, contact: str | None = None) -> Facts:
    """Return what a report on a release says.

    Short texts, not yet escaped.
    """
    guarantee = promise(release)
    columns = tuple(_column(column) for column in _public(release))
    kind, target = request_facts.kind(release), request_facts.target(release)
    used, chosen = _used(release, kind)
    n_candidates = len(used) or (max(len(chosen), request_facts.n_candidates(release)) if kind != "fit" else 0)
    whole = audience == "analyst" or kind == "fit" or n_candidates <= MOST_NAMED
    named = tuple((name, name in chosen) for name in (used if whole and used else chosen))
    provenance = release.provenance
    choice, choice_among = noise_box.choice(release), "models" if release.hybrid is None else "estimates"
    return Facts(
        audience=audience,
        kind=kind,
        is_of_selection=request_facts.is_of_selection(release),
        is_by_half=request_facts.is_by_half(release),
        is_by_fission=request_facts.is_by_fission(release),
        is_private=guarantee is not None,
        is_seeded=provenance.randomness == "seeded",
        is_stated=guarantee is not None and provenance.rows_origin == STATED,
        is_unstated=provenance.rows_origin == UNSTATED,
        method=release.method,
        method_words=METHODS.get(release.method.casefold()),
        working=_working(release),
        planned_among=release.request.get("chosen", {}).get("among"),
        planned_reason=release.request.get("chosen", {}).get("reason"),
        target=target,
        short_target=request_facts.called(release, target),
        described_target=request_facts.described(release, target),
        study=provenance.description,
        dataset=provenance.dataset,
        data=provenance.data,
        candidates=named,
        n_candidates=n_candidates,
        n_unnamed=n_candidates - len(named),
        is_screening=request_facts.is_screening(release),
        chooses_number=release.noise.mechanism in ("threshold", "cube"),
        screened=next((step.columns for step in release.steps if step.columns is not None), ()),
        chosen=chosen,
        headline=_headline(release, used if kind == "fit" else chosen),
        chance=tuple(chance_words.sentences(release)) if kind != "fit" else (),
        tells_nothing=chance_words.TELLS_NOTHING if release.intervals_tell_nothing else None,
        forced=request_facts.forced(release),
        settings=tuple(
            (name, _setting(value, release), _meaning(name, release))
            for name, value in request_facts.settings(release).items()
        ),
        promise=guarantee,
        noise=noise_box.box(release.noise, target, _epsilon(release), choice_among),
        boxed=noise_box.purpose(release.steps[_boxed(release)].name) if release.steps else None,
        choice=None if choice is None else noise_box.box(choice, target, math.nan, choice_among),
        steps=tuple(noise_box.steps(release)),
        fit=estimates.fit(release),
        fit_text=coefficient_table(release, width=80),
        hybrid=hybrids.hybrid(release),
        sizes=sizes(release) if kind != "fit" else (),
        n_sizes_open=sum(record.least_criterion is not None for record in release.by_size),
        is_choice_proven=is_choice_proven(release),
        choice_gap=choice_gap(release),
        sums=_sums(release),
        sure=sure(release),
        parts=parts(release),
        columns=columns[:n_listed],
        n_unlisted=len(columns) - len(columns[:n_listed]),
        sources="; ".join(dict.fromkeys(column.source for column in release.public)) or "none",
        not_protected=release.not_protected,
        budget=_budget(provenance.ledger) if provenance.ledger else None,
        derived_from=None if release.is_bought_in_parts else provenance.derived_from,
        event=setting(release.event) if release.event else None,
        contact=contact,
        release=release,
    )


def _used(release: Release, kind: request_facts.Kind) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that the question is about, those that always take part left aside; and those chosen of them."""
    if kind == "fit" and release.fit is not None:
        owned = (coefficient.column for coefficient in release.fit.coefficients)
        used = tuple(dict.fromkeys(name for name in owned if name is not None))
        return used or (request_facts.candidates(release) if release.hybrid is not None else ()), ()
    forced = request_facts.forced(release)
    used = tuple(name for name in request_facts.candidates(release) if name not in forced)
    return used, tuple(name for name in release.selected if name not in forced)


def _boxed(release: Release) -> int:
    """Which step the noise box of the release belongs to: of a plan it is the selection's, not the last one."""
    places = [place for place, step in enumerate(release.steps) if step.noise == release.noise]
    return places[-1] if places else -1


def _epsilon(release: Release) -> float:
    """What the noise box of the release cost: all of it, or its step."""
    if not release.steps:
        return request_facts.epsilon(release)
    return price(release.steps[_boxed(release)].event).epsilon or math.nan


def _working(release: Release) -> str | None:
    """The published algorithm on public points works otherwise than the one that is private."""
    if release.hybrid is not None and request_facts.parameters(release).get("as_published"):
        return PUBLISHED
    if request_facts.is_by_fission(release) and request_facts.kind(release) == "both":
        return WORKINGS[BY_FISSION]
    return WORKINGS.get(BY_HALF if request_facts.is_by_half(release) else release.method.casefold())


def _setting(value: Any, release: Release) -> str:
    """A long list of numbers is told by its ends."""
    if release.hybrid is not None and isinstance(value, list | tuple) and len(value) > MOST_SHOWN:
        start, end = (", ".join(setting(item) for item in part) for part in (value[:3], value[-1:]))
        return f"{start} ... {end} ({len(value)} of them)"
    return setting(value)


def _meaning(name: str, release: Release) -> str:
    if name.endswith("confidence") and release.fit is not None and not release.fit.has_intervals:
        return "confidence level of the intervals, if there were any"
    last = name.rpartition(": ")[2]
    return MEANINGS.get(name) or meanings().get(last) or MEANINGS.get(last, "")


def _sums(release: Release) -> Sums | None:
    record = release.moments
    if record is None:
        return None
    unit = float(record.grid) ** 2 * max(record.n_rows, 1)
    largest = {
        "two columns": max((v for row in record.gram_variance for v in row), default=0.0),
        "a column and the target": max(record.xty_variance, default=0.0),
        "the target and itself": record.yty_variance,
    }
    k = len(record.labels)
    return Sums(
        n_columns=count(k),
        n_numbers=count(k * (k + 1) // 2 + k + 1),
        n_rows=thousands(number(float(record.n_rows))),
        n_rows_sd=thousands(number(math.sqrt(record.n_rows_variance), 3)) if record.n_rows_variance > 0 else None,
        noise=tuple((name, number(math.sqrt(variance) / unit, 2)) for name, variance in largest.items()),
    )


def _column(column: PublicColumn) -> Column:
    return Column(column.name, column.role, column.type, _values(column), column.source, column.description or "")


def _values(column: PublicColumn) -> str:
    if column.levels is not None:
        shown = ", ".join(column.levels[:8])
        return f"{shown} and {len(column.levels) - 8} more" if len(column.levels) > 8 else shown
    if column.lower is not None and column.upper is not None:
        return f"{thousands(number(column.lower))} to {thousands(number(column.upper))}"
    return "never used in a model" if column.role == "unit_id" else "not declared"


def _budget(ledger: LedgerRecord) -> Budget:
    account = standing(ledger)
    return Budget(
        entry=str(ledger.entry),
        head=ledger.head,
        currency=account.currency,
        worth=account.worth,
        spent=thousands(at_most(account.spent)),
        cap=thousands(at_least(account.cap)),
        left=thousands(at_least(account.left)),
    )


def _headline(release: Release, chosen: tuple[str, ...]) -> str | None:
    """What a title calls a few columns; none where that is too long for a title."""
    if not 0 < len(chosen) <= 5:
        return None
    if not request_facts.has_descriptions(release, chosen):
        text = listed(chosen)
        return text if len(text) <= 80 else None
    text = series([request_facts.called(release, name) for name in chosen])
    return text if len(text) <= 140 else None


def _public(release: Release) -> list[PublicColumn]:
    order = {"target": 0, "unit_id": 1, "offset": 2, "exposure": 2, "weights": 3, "candidate": 4, "source": 5}
    return sorted(release.public, key=lambda column: order[column.role])
