"""Coefficients in short texts; nothing is escaped here."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

from discreet.release import CoefficientRecord, FitRecord, JointRecord, PublicColumn, Release
from discreet.report import request_facts
from discreet.report.clip_words import clipped
from discreet.report.vocabulary import FAMILIES, IN_TARGETS_UNIT, LOCATIONS
from discreet.report.words import alike, number, part, shortened, thousands

CONSTANT = "intercept"

RATIOS = {"logistic": "Odds ratio", "poisson": "Rate ratio"}
"""Family to what the exponential of a coefficient is called."""

FINENESS = 0.01
"""Of an estimate without an interval, two digits of this are told: of its column's effect from end to end."""

NOTHING = "uninformative"
NO_LIMIT = {"above": "no upper limit is known", "below": "no lower limit is known"}
"""How an interval without an end is told to what that means."""

VERDICTS = {True: "not ruled out", False: "ruled out", None: NOTHING}
"""Whether zero lies in a joint region to how it is told that all of them may be zero."""

MOST_DRAWN = 40
"""Rows of a picture that a printed page holds."""


@dataclass(frozen=True)
class Coefficient:
    """A line of the table of coefficients; `ratio` and `ratio_interval` are empty for a linear regression.

    Without intervals all that is told of them is empty. `by_sampling` and `by_privacy` are half the widths that the
    interval would have with one kind of noise alone.
    """

    name: str
    estimate: str
    interval: str
    ratio: str
    ratio_interval: str
    by_sampling: str
    by_privacy: str
    share: str
    is_empty: bool
    public: str = ""


@dataclass(frozen=True)
class Whole:
    """A category as a whole: how many coefficients it has, and whether all of them can be zero."""

    name: str
    n_levels: str
    verdict: str
    distance: str
    limit: str


@dataclass(frozen=True)
class Fit:
    """A regression, or another estimate, in short texts.

    `has_public` where public records alone tell each one too; `has_equal_variances` where intervals suppose those;
    `is_weighted_part` where a model leaves columns out and long rows count less.
    """

    family: str
    words: str
    title: str
    is_location: bool
    is_own: bool
    has_public: bool
    confidence: str
    coefficients: tuple[Coefficient, ...]
    n_columns: int
    references: tuple[tuple[str, str], ...]
    has_intervals: bool
    ratio: str | None
    upper: str
    one_sided: tuple[tuple[str, str], ...]
    residual_sd: str | None
    r_squared: str | None
    n_empty: int
    n_undrawn: int
    largest_share: str
    clipped: str | None
    offset: str | None
    exposure: str | None
    weights: str | None
    has_equal_variances: bool
    is_weighted_part: bool
    wholes: tuple[Whole, ...] = ()


def label(record: CoefficientRecord, constant: str = CONSTANT) -> str:
    """Return how a coefficient is called.

    Its column, with the level of a category.
    """
    if record.column is None:
        return constant
    return record.name if record.level is None else f"{record.column}: {record.level}"


def fit(release: Release) -> Fit | None:
    """Return a release's coefficients in short texts.

    None when it has none.
    """
    record = release.fit
    if record is None:
        return None
    shares = [share(coefficient) for coefficient in record.coefficients]
    tell = _line if record.has_intervals else partial(_bare_line, release)
    lines = tuple(tell(coefficient, record) for coefficient in record.coefficients)
    response = request_facts.declared(release, request_facts.target(release))
    reading = words(release, record)
    return Fit(
        family=record.family,
        words=reading,
        title=f"{'The' if record.family in LOCATIONS else 'A'} {reading}",
        is_location=record.family in LOCATIONS,
        is_own=record.family == "own",
        has_public=bool(lines) and all(line.public for line in lines),
        confidence=f"{number(100 * record.confidence)}%",
        coefficients=lines,
        n_columns=len({coefficient.column for coefficient in record.coefficients if coefficient.column is not None}),
        references=tuple(_references(record, release)),
        has_intervals=record.has_intervals,
        ratio=RATIOS.get(record.family),
        upper="its upper value" if response is None or response.upper is None else thousands(number(response.upper)),
        one_sided=tuple(_one_sided(record)),
        residual_sd=None if record.residual_sd is None else thousands(number(record.residual_sd, 4)),
        r_squared=None if record.r_squared is None else number(record.r_squared, 3),
        n_empty=sum(line.is_empty for line in lines),
        n_undrawn=sum(coefficient.column is not None for coefficient in record.coefficients) - len(drawn(record)),
        largest_share=part(max((value for value in shares if not math.isnan(value)), default=0.0)),
        clipped=None if record.clipped is None else clipped(record.clipped, record.count_bound),
        offset=record.offset and shortened(record.offset, 40),
        exposure=record.exposure and shortened(record.exposure, 40),
        weights=record.weights and shortened(record.weights, 40),
        has_equal_variances=_has_equal_variances(release, record),
        is_weighted_part=_is_weighted_part(release, record),
        wholes=tuple(map(_whole, record.joint)),
    )


def _has_equal_variances(release: Release, record: FitRecord) -> bool:
    """Whether linear intervals suppose errors of equal variance: no second pass tells a variance by units."""
    moments = release.moments
    if record.family != "linear" or moments is None or not record.has_intervals:
        return False
    return moments.whitened is None or moments.whitened.scores is None


def _is_weighted_part(release: Release, record: FitRecord) -> bool:
    """Whether a model has some of the columns of rows that were divided by their length."""
    moments = release.moments
    if record.family != "linear" or moments is None or moments.constant == 1.0 or moments.sum_of_weights is not None:
        return False
    return {coefficient.column for coefficient in record.coefficients} < set(moments.owners)


def _whole(record: JointRecord) -> Whole:
    is_told = record.distance is not None and record.zero_inside is not None
    return Whole(
        name=", ".join(record.columns),
        n_levels=str(record.degrees_of_freedom),
        verdict=VERDICTS[record.zero_inside if is_told else None],
        distance=thousands(number(record.distance, 3)) if record.distance is not None else "",
        limit=number(record.limit, 3) if record.limit is not None else "",
    )


def words(release: Release, record: FitRecord) -> str:
    """Return what was estimated.

    Such as ``logistic regression``, ``0.9 quantile`` or ``minimum of the contrast NAME``.
    """
    parameters = request_facts.parameters(release)
    if record.family == "quantile" and isinstance(parameters.get("quantile"), float):
        return f"{number(parameters['quantile'])} quantile"
    if record.family == "own" and parameters.get("contrast"):
        return f"minimum of the contrast {parameters['contrast']}"
    return FAMILIES[record.family]


def drawn(record: FitRecord) -> list[CoefficientRecord]:
    """Return the coefficients that a picture shows, in their order.

    Without the intercept; where they are too many, those that stand out most from their intervals.
    """
    shown = [
        coefficient
        for coefficient in record.coefficients
        if coefficient.column is not None and math.isfinite(coefficient.estimate)
    ]
    clearest = sorted(range(len(shown)), key=lambda at: -_clearness(shown[at]))[:MOST_DRAWN]
    return [shown[at] for at in sorted(clearest)]


def _clearness(record: CoefficientRecord) -> float:
    half = reach(record)
    return abs(record.estimate) / half if half > 0 else 0.0


def share(record: CoefficientRecord) -> float:
    """Return how much of an interval's variance is privacy noise.

    In [0, 1]; not a number when that cannot be told.
    """
    total = record.sampling_variance + record.privacy_variance
    return record.privacy_variance / total if total > 0 and math.isfinite(total) else math.nan


def quantile(confidence: float) -> float:
    """Return how many standard deviations an interval reaches to each side."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def reach(record: CoefficientRecord) -> float:
    """Return half an interval's length, or how far the one end that is told lies from the estimate.

    Not a number when nothing can be told.
    """
    if record.low is not None and record.high is not None:
        return (record.high - record.low) / 2
    return next((abs(record.estimate - end) for end in (record.low, record.high) if end is not None), math.nan)


def crossing(record: CoefficientRecord, column: PublicColumn | None) -> float:
    """Return what the coefficient is multiplied with when its column goes from one end of its range to the other.

    Width of the range, in the column's own unit; 1 for a level of a category and where no range is known.
    """
    if record.level is not None or column is None or column.lower is None or column.upper is None:
        return 1.0
    width = column.upper - column.lower
    return width if 0 < width < math.inf else 1.0


def _line(record: CoefficientRecord, fitted: FitRecord) -> Coefficient:
    spread, deviations = reach(record), quantile(fitted.confidence)
    ends = [end for end in (record.low, record.high) if end is not None]
    estimate, *end_texts = map(thousands, alike([record.estimate, *ends], spread))
    sampling, privacy = (
        thousands(alike([deviations * math.sqrt(variance)], spread)[0])
        for variance in (record.sampling_variance, record.privacy_variance)
    )
    ratio, ratio_interval = _ratios(record) if fitted.family in RATIOS and record.column is not None else ("", "")
    return Coefficient(
        name=label(record),
        estimate=estimate,
        interval=_interval(record, end_texts),
        ratio=ratio,
        ratio_interval=ratio_interval,
        by_sampling=sampling,
        by_privacy=privacy,
        share=part(share(record)),
        is_empty=record.uninformative,
    )


def _interval(record: CoefficientRecord, ends: Sequence[str]) -> str:
    """An interval in words, from the texts of the ends that it has."""
    if record.uninformative:
        return NOTHING
    return " to ".join(ends) if len(ends) == 2 else f"{'above' if record.high is None else 'below'} {ends[0]}"


def _one_sided(fitted: FitRecord) -> Iterator[tuple[str, str]]:
    """The words that intervals without one end are told in, with what they mean."""
    sided = [record for record in fitted.coefficients if not record.uninformative]
    if any(record.high is None for record in sided):
        yield "above", NO_LIMIT["above"]
    if any(record.low is None for record in sided):
        yield "below", NO_LIMIT["below"]


def _bare_line(release: Release, record: CoefficientRecord, fitted: FitRecord) -> Coefficient:
    """A line without an interval: its column's declared range tells how many digits may matter."""
    public = public_alone(release, record)
    values = [record.estimate] if public is None else [record.estimate, public]
    if fitted.family == "own":
        name, texts, spread = record.name, [number(value, 5) for value in values], math.nan
    else:
        constant = words(release, fitted) if fitted.family in LOCATIONS else CONSTANT
        spread = FINENESS * _unit(release, fitted) / crossing(record, request_facts.declared(release, record.column))
        name, texts = label(record, constant), list(map(thousands, alike(values, spread)))
    ratio = ""
    if fitted.family in RATIOS and record.column is not None:
        value = _exponential(record.estimate)
        ratio = _ratio(value, _decimals(spread * value))
    return Coefficient(name, texts[0], "", ratio, "", "", "", "", is_empty=False, public=texts[1] if texts[1:] else "")


def public_alone(release: Release, record: CoefficientRecord) -> float | None:
    """Return what public records alone make of a coefficient.

    None when the release tells no such estimate.
    """
    fitted = release.hybrid.public_only if release.hybrid is not None else None
    beside = (
        {coefficient.name: coefficient.estimate for coefficient in fitted.coefficients} if fitted is not None else {}
    )
    return beside.get(record.name)


def _unit(release: Release, fitted: FitRecord) -> float:
    """Half the target's range, where weighted points tell estimates in its unit."""
    column = request_facts.declared(release, request_facts.target(release))
    if release.hybrid is None or fitted.family not in IN_TARGETS_UNIT or column is None:
        return 1.0
    half = (column.upper - column.lower) / 2 if column.lower is not None and column.upper is not None else 1.0
    return half if 0 < half < math.inf else 1.0


def _ratios(record: CoefficientRecord) -> tuple[str, str]:
    """The exponential of an estimate, and of its interval."""
    value, low, high = (_exponential(value) for value in (record.estimate, *record.interval))
    ends = [end for end, own in ((low, record.low), (high, record.high)) if own is not None]
    # An end near zero asks for no more digits than a tenth of the estimate does.
    decimals = _decimals(min(high - low, value) if len(ends) == 2 else max(min([value, *ends]), value / 10.0))
    text = _interval(record, [_ratio(end, decimals) for end in ends])
    for prefix, shorter in (
        ("above over", "over"),
        ("above under", "from under"),
        ("below under", "under"),
        ("below over", "up to over"),
    ):
        text = text.replace(prefix, shorter)
    return _ratio(value, decimals), text


def _exponential(value: float) -> float:
    return math.exp(max(min(value, 700.0), -700.0))


def _decimals(spread: float) -> int:
    return max(0, 1 - math.floor(math.log10(max(spread, 1e-6)))) if math.isfinite(spread) else 0


def _ratio(value: float, decimals: int) -> str:
    if value >= 1e6:
        return "over a million"
    return "under 0.000001" if value < 1e-6 else f"{value:,.{decimals}f}"


def _references(record: FitRecord, release: Release) -> list[tuple[str, str]]:
    """Each category with the level that others are compared with; in older releases, the one without a coefficient."""
    stated = {str(c.column): c.reference for c in record.coefficients if c.reference is not None}
    levels: dict[str, set[str]] = {}
    for coefficient in record.coefficients:
        if coefficient.column is not None and coefficient.level is not None:
            levels.setdefault(coefficient.column, set()).add(coefficient.level)
    references = []
    for name, present in levels.items():
        column = request_facts.declared(release, name)
        absent = [level for level in (column.levels or () if column else ()) if level not in present]
        references.append((name, stated.get(name) or (absent[0] if len(absent) == 1 else "")))
    return [(name, level) for name, level in references if level]
