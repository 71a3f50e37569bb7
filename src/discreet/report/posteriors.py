"""How sure columns and models are, in short texts and as a picture; nothing is escaped here."""

from dataclasses import dataclass

from discreet.release import PooledRecord, PosteriorRecord, PriorPosterior, Release
from discreet.report.drawing import ACCENT, INK, MUTED, PALE, SHARES, Key, room_beside, rows_panel, shares, svg
from discreet.report.estimates import MOST_DRAWN
from discreet.report.widths import squeezed
from discreet.report.words import alike, at_most, listed, number, percent, visible

_ROW, _LONGEST = 24, 32
_MODELS = 5
WORDS = {"broad": "any number of effects", "sparse": "few, strong effects"}
"""What each prior believes."""


@dataclass(frozen=True)
class Sure:
    """What a posterior says, by prior where a text is a tuple.

    Parameters
    ----------
    names : tuple of str
        Of the priors.
    priors : tuple of str
        What each prior believes.
    columns : tuple of tuple
        Name of a column and its chances; the likeliest first.
    models : tuple of tuple
        Columns of a model and its chances; the likeliest under the first prior.
    coefficients : tuple of tuple
        Name of a coefficient, then estimate and interval by prior.
    best : str
        The likeliest model of the first prior.
    best_chances : tuple of str
        Its chance; "below 1 in ..." where it is not listed.
    confidence : str
        Probability of the intervals.
    sampling_error : str or None
        Largest standard error of a chance, where a sampler told them.
    """

    names: tuple[str, ...]
    priors: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    models: tuple[tuple[str, ...], ...]
    coefficients: tuple[tuple[str, ...], ...]
    best: str
    best_chances: tuple[str, ...]
    confidence: str
    sampling_error: str | None


def sure(release: Release) -> Sure | None:
    """Return what a release says of how sure its columns are, or None."""
    record = release.model_posterior
    if record is None:
        return None
    first, errors = record.priors[0], [prior.sampling_error for prior in record.priors if prior.sampling_error]
    models = [(_model(model.columns), *_of_model(record, model.columns)) for model in first.models[:_MODELS]]
    return Sure(
        names=tuple(prior.prior for prior in record.priors),
        priors=tuple(WORDS[prior.prior] for prior in record.priors),
        columns=tuple((name, *map(percent, chances)) for name, *chances in _columns(record)),
        models=tuple(models),
        coefficients=tuple(_coefficient(record, at) for at in range(len(first.coefficients))),
        best=models[0][0] if models else "none",
        best_chances=models[0][1:] if models else (),
        confidence=f"{number(100.0 * record.confidence)}%",
        sampling_error=number(max(errors), 2) if errors else None,
    )


def parts(release: Release) -> tuple[str, ...]:
    """Return what a release that was bought part by part says of that, in sentences."""
    record = release.pooled
    if record is None:
        return ()
    count = len(record.parts)
    worth = f"rho {at_most(record.rho_spent, 3)}, " if record.accounting == "zcdp" else ""
    return (
        f"Bought in {count} part{'s' if count > 1 else ''}: {_reached(record)}.",
        f"Spent {worth}epsilon {at_most(record.epsilon_spent, 3)} of at most {at_most(record.at_most, 3)}. A single "
        f"release with as little noise costs epsilon {at_most(record.fixed_epsilon, 3)}, if that is known beforehand.",
    )


def _reached(record: PooledRecord) -> str:
    """What was to be reached, and what was."""
    last, missed = record.parts[-1], "" if record.reached else ", and the ceiling came first"
    belief = f"if {WORDS[record.prior]} are expected"
    if record.width is not None and last.width is not None:
        whose = f"the interval of {visible(record.coefficient)}" if record.coefficient else "the widest interval"
        wide, wished = alike([last.width, record.width], record.width)
        return f"{whose}, of probability 95%, is {wide} wide, {belief} ({wished} was requested{missed})"
    of_model = record.of == "model"
    whose = "the likeliest model is right" if of_model else "each column's verdict, that it matters or not, is right"
    wished = percent(record.until or 0.0)
    return f"{whose} with a chance of at least {percent(last.certainty)}, {belief} ({wished} was requested{missed})"


def chances_picture(record: PosteriorRecord) -> str:
    """Return the chance of each column under both priors, with a line between.

    An SVG element.
    """
    rows = _columns(record)[:MOST_DRAWN]
    labels = [squeezed(visible(name), _LONGEST) for name, *_ in rows]
    drawing = rows_panel(room_beside(labels), _ROW, max(len(rows), 1), (0.0, 1.0))
    drawing.x_axis(shares(SHARES), "Chance that the column matters")
    colors = (ACCENT, PALE)
    keys = [Key(WORDS[prior.prior], color, "circle") for prior, color in zip(record.priors, colors, strict=False)]
    drawing.legend_above(keys)
    for at, (label, (_, *chances)) in enumerate(zip(labels, rows, strict=True)):
        drawing.line([(chance, at) for chance in chances], MUTED, 1)
        for chance, color in reversed(list(zip(chances, colors, strict=False))):
            drawing.dot(chance, at, color, 80)
        drawing.row_label(at, label, INK)
    likely = sum(chances[0] >= 0.5 for _, *chances in rows)
    return svg(drawing, f"Chances of {len(rows)} columns as dots; {likely} of them are at least one half.")


def _columns(record: PosteriorRecord) -> list[tuple[str, *tuple[float, ...]]]:
    """Each column with its chances, the likeliest first."""
    by_prior = [{entry.column: entry.chance for entry in prior.columns} for prior in record.priors]
    names = sorted(by_prior[0], key=lambda name: -by_prior[0][name])
    return [(name, *(chances.get(name, 0.0) for chances in by_prior)) for name in names]


def _model(columns: tuple[str, ...]) -> str:
    return listed(columns) if columns else "no column"


def _of_model(record: PosteriorRecord, columns: tuple[str, ...]) -> list[str]:
    """A model's chance under each prior; one that is not listed is less likely than those that are."""
    return [_chance_of(prior, columns) for prior in record.priors]


def _chance_of(prior: PriorPosterior, columns: tuple[str, ...]) -> str:
    chances = {frozenset(model.columns): model.chance for model in prior.models}
    least = min(chances.values(), default=1.0)
    at = chances.get(frozenset(columns))
    return f"below {percent(least)}" if at is None else percent(at)


def _coefficient(record: PosteriorRecord, at: int) -> tuple[str, ...]:
    texts = [record.priors[0].coefficients[at].name]
    for prior in record.priors:
        entry = prior.coefficients[at]
        reach = (entry.high - entry.low) / 2.0 or abs(entry.estimate) or 1.0
        estimate, low, high = alike([entry.estimate, entry.low, entry.high], reach)
        texts += [estimate, f"{low} to {high}"]
    return tuple(texts)
