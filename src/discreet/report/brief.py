"""The answer of a report's first page, in a sentence or two, from what the release tells."""

from collections.abc import Iterable, Sequence

from discreet.release import CoefficientRecord, FitRecord
from discreet.report import estimates, request_facts
from discreet.report.facts import Facts
from discreet.report.words import count, listed, series

MOST_NAMED = 12
MOST_DESCRIBED = 6


def answer(facts: Facts) -> str:
    """Return what was found; that nothing stood out, where chance gives as much."""
    fit = facts.release.fit
    if facts.kind == "moments":
        return "Noisy sums, from which regressions can be computed without the rows. They are not yet an answer."
    if facts.kind == "fit" and fit is not None:
        return _of_fit(fit, facts)
    if not facts.chosen:
        return "No column was selected."
    chance = facts.release.chance
    if chance is not None and chance.called_noise and facts.chance:
        return facts.chance[0]
    chosen = f"Selected: {_described(facts)}."
    return f"{chosen} {_of_fit(fit, facts)}".strip() if fit is not None else chosen


def _of_fit(fit: FitRecord, facts: Facts) -> str:
    """Which coefficients differ from zero at the level of the intervals."""
    if facts.tells_nothing:
        return facts.tells_nothing
    slopes = [term for term in fit.coefficients if term.column is not None]
    if not slopes or not fit.has_intervals:
        return _estimates(facts)
    above = [term for term in slopes if term.interval[0] > 0.0]
    below = [term for term in slopes if term.interval[1] < 0.0]
    others = len(slopes) - len(above) - len(below)
    level = f"{100.0 * fit.confidence:g}% intervals"
    words = [f"{word} with {_terms(terms, facts)}" for word, terms in (("higher", above), ("lower", below)) if terms]
    if not words:
        return f"All {level} include zero." if others > 1 else f"The {level.removesuffix('s')} includes zero."
    unknown = f" {'Intervals' if others > 1 else 'The interval'} of {count(others)} other{'s' if others > 1 else ''}"
    unknown = f"{unknown} include{'' if others > 1 else 's'} zero." if others else ""
    response = "probability" if fit.family == "logistic" else "mean"
    return f"The {response} of {facts.short_target} is {' and '.join(words)} ({level}).{unknown}"


def _estimates(facts: Facts) -> str:
    """The numbers themselves, where there are no slopes or no intervals."""
    lines = facts.fit.coefficients if facts.fit is not None else ()
    estimates_shown = "; ".join(f"{line.name} {line.estimate}" for line in lines[:MOST_NAMED])
    more = f" and {count(len(lines) - MOST_NAMED)} more" if len(lines) > MOST_NAMED else ""
    without = "" if facts.release.fit is None or facts.release.fit.has_intervals else ", without intervals"
    return f"Estimates{without}: {estimates_shown}{more}."


def _terms(terms: Sequence[CoefficientRecord], facts: Facts) -> str:
    """Columns, with what they are where there are few."""
    release = facts.release
    columns = [term.column for term in terms if term.column is not None]
    if len(terms) > MOST_DESCRIBED or not request_facts.has_descriptions(release, columns):
        return _names([estimates.label(term) for term in terms])
    levels: dict[str, list[str]] = {}
    for name, term in zip(columns, terms, strict=True):
        levels.setdefault(request_facts.described(release, name), []).extend([term.level] if term.level else [])
    return series([f"{name}: {series(level_names)}" if level_names else name for name, level_names in levels.items()])


def _described(facts: Facts) -> str:
    """The selected columns, with what they are where there are few."""
    if len(facts.chosen) > MOST_DESCRIBED:
        return _names(facts.chosen)
    return "; ".join(request_facts.described(facts.release, name) for name in facts.chosen)


def _names(names: Iterable[str]) -> str:
    names_shown = list(names)
    if len(names_shown) <= MOST_NAMED:
        return listed(names_shown)
    return f"{', '.join(names_shown[:MOST_NAMED])} and {count(len(names_shown) - MOST_NAMED)} more"
