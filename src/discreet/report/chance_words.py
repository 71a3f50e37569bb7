"""What chance gives in the place of a selection, in sentences: once for the console, for reports and for a dry run."""

from collections.abc import Mapping, Sequence

from discreet.release import ChanceRecord, Release
from discreet.report.words import count, listed, number

TELLS_NOTHING = (
    "The intervals are uninformative at this epsilon: each includes zero, and all values that the bounds allow."
)

MOST_NAMED = 5

LARGEST_CHANCE = 0.05
"""What is larger is said in words as well."""

WORDS = ("no", "this one", "these two", "these three", "these four", "these five")


def verdict(release: Release) -> str | None:
    """Return whether a selection stands out of what chance gives, in one sentence; None where nothing is to be said."""
    chance = release.chance
    if chance is None:
        return None
    if not release.selected:
        return None
    if chance.called_noise and chance.chance_by_noise is None:
        n = len(release.selected)
        names = f"{WORDS[n]} name{'' if n == 1 else 's'}" if n < len(WORDS) else f"these {count(n)} names"
        return f"Nothing stood out: {names} may be due to chance."
    if chance.chance_by_noise is not None and any(step.name == "noise_test" for step in release.steps):
        return _by_test(chance.chance_by_noise, len(release.selected), bool(chance.called_noise))
    if chance.called_noise and chance.chance_by_noise is not None:
        share = _by_noise(chance.chance_by_noise, _as_much(release))
        return f"{'Nothing stood out' if chance.could_stand_out is False else 'Indistinguishable from noise'}: {share}."
    if chance.standing_out:
        far = sorted(chance.standing_out.items(), key=lambda item: -item[1])
        shown = ", ".join(f"{listed([name])} {deviations:.1f}" for name, deviations in far[:MOST_NAMED])
        n_more = len(far) - MOST_NAMED
        more = f"; {n_more} more {'stands' if n_more == 1 else 'stand'} out less" if n_more > 0 else ""
        return f"Each stands out by this many standard deviations of the noise: {shown}{more}."
    if chance.column_chances:
        is_adjusted = release.noise.claim.endswith("decorrelated_scores.privacy.md")
        left = next((step.columns for step in release.steps if step.name == "first_screening"), None)
        return _by_column(chance.column_chances, is_adjusted, None if left is None else len(left))
    if chance.chance_by_noise is not None:
        return f"{_by_noise(chance.chance_by_noise, _as_much(release)).capitalize()}."
    return "The number of selected columns is fixed: a table without any effect would give as many."


def _by_column(chances: Mapping[str, float], is_adjusted: bool, n_left: int | None) -> str:
    """How often a column without an effect has as large a noisy score as each of the selected ones has.

    `n_left` is the number of columns that a first screening left.
    """
    without = "Without an effect of its own" if is_adjusted else "If it were not associated with the target"
    without += f" beside the {count(n_left)} columns of the first screening" if n_left is not None else ""
    cause = "only be correlated with the others" if is_adjusted else "be due to chance"
    by_share = dict[str, list[str]]()
    for name, chance in sorted(chances.items(), key=lambda item: item[1]):
        by_share.setdefault(frequency(chance), []).append(name)
    shares = "; ".join(
        f"as high as {listed(names)} in {share} tables" for share, names in list(by_share.items())[:MOST_NAMED]
    )
    unsure = [name for name, chance in chances.items() if chance > LARGEST_CHANCE]
    doubt = f" {listed(unsure)} may {cause}." if unsure else ""
    lost = "" if n_left is None else _LOST
    return f"{without}, a column would score {shares}.{doubt}{lost}"


def _by_test(chance: float, n_selected: int, is_noise: bool) -> str:
    """What a noise test says: it looks at the strongest of the selected columns, and not at each of them."""
    if n_selected == 1:
        share, which = _by_noise(chance, "a column that stands out as far"), ""
    else:
        share = _by_noise(chance, f"{count(n_selected)} columns of which the strongest stands out as far")
        which = " This is about all of them together: the test does not tell which stand out."
    return f"Nothing stood out: {share}." if is_noise else f"{share[0].upper()}{share[1:]}.{which}"


def _as_much(release: Release) -> str:
    """What noise alone would have to give: above a threshold the chance is that of any column at all."""
    return "a column" if len(release.selected) == 1 or release.noise.threshold is not None else "as many columns"


def _by_noise(chance: float, named: str) -> str:
    """How often a selection by noise alone gives what was selected."""
    return f"if no column had an effect, {frequency(chance)} tables would still give {named}"


_LOST = (
    " The first screening may have left out a column that has an effect. Columns that correlate with it may then be "
    "selected in its place."
)

_SMALLER = "With a smaller one, the correlation must be larger."
_LESS = "If they vary less, the correlation must be larger."
_THIRD, _SIXTH = (f"a target whose standard deviation is a {part} of its" for part in ("third", "sixth"))

SUPPOSED = {
    "clip": f"This assumes that the target's standard deviation is a third of its clipping bound. {_SMALLER}",
    "even": f"This assumes columns that spread evenly over their bounds, and {_THIRD} clipping bound. {_LESS}",
    "range": f"This assumes columns that spread evenly over their bounds, and {_SIXTH} declared range. {_LESS}",
    "normal": "This assumes that the target and the columns are normally distributed.",
    "values": "This assumes that the target has two values, each in half of the rows.",
}
"""What the needed correlation assumes of the target."""


def needed(chance: ChanceRecord | None) -> str | None:
    """Return what a column needs to be chosen, in one sentence; None where it is not known."""
    rule = None if chance is None else _rule(chance)
    if chance is None or rule is None:
        return None
    n_rows = None if chance.n_rows is None else round(chance.n_rows)
    rows = "" if n_rows is None else f"With {count(n_rows)} row{'' if n_rows == 1 else 's'}, "
    text = f"{rows}{rule}."
    return f"{text[0].upper()}{text[1:]}"


def supposed(chance: ChanceRecord | None) -> str | None:
    """Return what the needed correlation assumes of the target, in one or two sentences; None where nothing."""
    return None if chance is None or chance.supposes is None else SUPPOSED[chance.supposes]


def _rule(chance: ChanceRecord) -> str | None:
    """What a column needs, as the end of a sentence."""
    often = "in 9 of 10 draws"
    votes, correlation = chance.votes_needed, chance.correlation_needed
    if votes is not None:
        if votes > 1.0:
            return f"no column is chosen {often}, even with the votes of all blocks"
        return f"a column with the votes of {100.0 * votes:.0f}% of the blocks is chosen {often}"
    if correlation is not None:
        if correlation > 1.0:
            return f"no column is chosen {often}, however much it correlates with the target"
        size = f"a correlation of about {number(correlation, 2)} with the target"
        high = " (more than half of its variance)" if correlation**2 > 0.5 else ""
        return f"a column with {size}{high} is chosen {often}; one with less may be missed"
    if chance.could_stand_out is False:
        return "a column is chosen by chance alone: the choice does not use its score"
    return None


def hidden(chance: ChanceRecord | None) -> str | None:
    """Return which columns noise hides, and what helps, in two sentences; None where it hides none."""
    if chance is None or not chance.hidden_columns:
        return None
    names = chance.hidden_columns
    they = "it varies" if len(names) == 1 else "they vary"
    return (
        f"Declare closer bounds for {listed(names)}. Within the declared ones {they} too little to be told from noise, "
        "and a column that correlates may be selected instead."
    )


def sentences(release: Release) -> Sequence[str]:
    """Return what a release says of chance: the verdict, what is hidden, what a column needed, what that supposes."""
    chance = release.chance
    return [text for text in (verdict(release), hidden(chance), needed(chance), supposed(chance)) if text]


def before(chance: ChanceRecord) -> Sequence[str]:
    """Return what a dry run says of chance, before anything is charged."""
    texts = [needed(chance), supposed(chance)]
    if chance.could_stand_out is False:
        texts.insert(0, "Nothing can stand out here: whatever is selected may be due to chance.")
    if chance.chance_by_noise is not None:
        texts.append(f"{_by_noise(chance.chance_by_noise, 'a column').capitalize()}.")
    if chance.test_correlation is not None:
        size = f"a correlation of about {number(chance.test_correlation, 2)}"
        correlation = size if chance.test_correlation <= 1.0 else "no correlation"
        texts.append(f"The noise test tells {correlation} from chance in 9 of 10 draws.")
    return [text for text in texts if text]


def frequency(chance: float) -> str:
    """Return a chance as a natural frequency."""
    if chance < 0.001:
        return "fewer than 1 in 1,000"
    return f"about {round(100.0 * chance)} in 100" if chance >= 0.01 else f"about {round(1000.0 * chance)} in 1,000"
