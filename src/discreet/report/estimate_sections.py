"""What a report tells of estimates, of what they rest on, of models by size and of noisy moments, as plain data."""

from collections.abc import Iterator, Mapping

from discreet.report.content import (
    Block,
    Column,
    Entries,
    Entry,
    Paragraph,
    Picture,
    Row,
    Section,
    Sentences,
    Table,
    figures,
    paragraphs,
    table,
)
from discreet.report.estimates import Coefficient, Fit
from discreet.report.facts import Facts
from discreet.report.hybrids import Hybrid, Points
from discreet.report.posteriors import Sure
from discreet.report.words import shortened


def estimate_sections(facts: Facts) -> Iterator[Section]:
    """Yield the sections that this release has."""
    tell, full = Sentences("estimates.j2", facts), facts.audience == "analyst"
    if facts.fit:
        nothing = paragraphs(facts.tells_nothing or "", style="minded")
        meanings = {column.name: column.description for column in facts.columns}
        yield Section("fit", tell.fit_title(), (*nothing, *_fit(facts.fit, tell, full, meanings)))
    if facts.hybrid:
        yield from _hybrid(facts.hybrid, Sentences("hybrid.j2", facts), full)
    if facts.sizes:
        yield Section("sizes", "The best model of every size", tuple(_sizes(facts, tell)))
    if facts.parts:
        yield Section("parts", "What was spent, part by part", tuple(map(Paragraph, facts.parts)))
    if facts.sure:
        yield Section("sure", "How sure the columns are", tuple(_sure(facts.sure, tell, full)))
    if facts.sums:
        noise = tell.sums_noise() if full else ""
        yield Section("sums", "The noisy moments", (Paragraph(f"{tell.sums()} {noise}".strip()),))


def _fit(fit: Fit, tell: Sentences, full: bool, meanings: Mapping[str, str]) -> Iterator[Block]:
    yield Paragraph(tell.fit())
    yield from paragraphs(tell.after_selection(), style="minded")
    yield _coefficients(fit, tell, full, meanings)
    yield from paragraphs(fit.clipped or "", style="minded")
    yield Paragraph(tell.fit_reading())
    if fit.has_intervals:
        halves = "The columns with ± are half the interval's width with one kind of chance alone; their squares add up."
        yield Paragraph(f"{tell.fit_shares()} {halves if full else ''}".strip())
    yield from paragraphs(tell.fit_open(), style="minded")
    if fit.wholes:
        yield _wholes(fit, full)
        yield Paragraph(tell.fit_wholes())
    yield Picture("coefficients", tell.fit_picture_title(), tell.fit_picture_note(), is_wide=True)


def _coefficients(fit: Fit, tell: Sentences, full: bool, meanings: Mapping[str, str]) -> Table:
    """Only the columns that this kind of estimate has."""
    interval, has_intervals, ratio = f"{fit.confidence} interval", fit.has_intervals, fit.ratio or ""
    columns = [
        (True, "Estimate", "estimate"),
        (has_intervals, interval, "interval"),
        (ratio, ratio, "ratio"),
        (has_intervals and ratio, interval, "ratio_interval"),
        (has_intervals and full, "± sampling", "by_sampling"),
        (has_intervals and full, "± privacy", "by_privacy"),
        (has_intervals, "Due to noise", "share"),
        (fit.has_public, "Public records alone", "public"),
    ]
    present = [(title, name) for is_there, title, name in columns if is_there]

    def row(coefficient: Coefficient) -> Row:
        name = f"{coefficient.name} *" if coefficient.is_empty else coefficient.name
        cells = (name, *(getattr(coefficient, field) for _, field in present))
        return Row(cells, "empty" if coefficient.is_empty else "", shortened(meanings.get(coefficient.name, ""), 80))

    head = Column(tell.fit_head()), *figures(*(title for title, _ in present))
    return Table(tell.fit_caption(), head, tuple(map(row, fit.coefficients)))


def _wholes(fit: Fit, full: bool) -> Table:
    """Each category as a whole."""
    figure = ("Distance of zero", "Reach of the region") if full else ()
    head = (Column("Category"), *figures("Coefficients", "That all are zero is", *figure))
    rows = (
        (each.name, each.n_levels, each.verdict, *((each.distance, each.limit) if full else ())) for each in fit.wholes
    )
    return table(f"Each category as a whole, at a confidence of {fit.confidence}", head, rows)


def _hybrid(hybrid: Hybrid, tell: Sentences, full: bool) -> Iterator[Section]:
    rests = Paragraph(tell.rests()), *paragraphs(tell.guarded(), style="minded")
    points = tuple(_points(hybrid.points, hybrid, tell, full)) if hybrid.points else ()
    yield Section("points", tell.title(), (*rests, *points))
    if hybrid.chosen:
        rivals = Table(
            "The estimates, the chosen one marked",
            (Column("Estimate"), *figures("Points", "Ridge")),
            tuple(
                Row(
                    (rival.name, rival.points, rival.ridge),
                    "chosen" if rival.is_chosen else "",
                    "chosen" if rival.is_chosen else "",
                )
                for rival in hybrid.rivals
            ),
        )
        yield Section("rivals", tell.chosen_title(), (Paragraph(tell.chosen()), rivals, *paragraphs(tell.unlisted())))
    if hybrid.twins:
        yield Section("twins", "Expected errors", tuple(_twins(hybrid, tell, full)))


def _points(points: Points, hybrid: Hybrid, tell: Sentences, full: bool) -> Iterator[Block]:
    dropped = f", and {points.n_dropped} left out for a missing cell" if points.n_dropped else ""
    measured = ("Points counted beside", points.n_measured) if points.counts else ("Noisy sums", points.n_noisy)
    weights = (
        Entry("Of them with a weight", points.n_weighted),
        Entry("Effective number of points", points.effective),
        Entry("Sum of the weights", points.total),
    )
    yield Entries(
        "Points and weights",
        (
            Entry("Public table", points.public),
            Entry("Complete public records", f"{points.n_records}{dropped}"),
            Entry("Distinct points of them", points.n_points),
            Entry(*measured),
            Entry("Points the estimate rests on", points.n_kept),
            *(weights if hybrid.basis == "weights" else ()),
            *((Entry("Points, SHA-256", points.sha256, is_code=True),) if full else ()),
        ),
    )
    yield from paragraphs(tell.uneven())
    yield Picture("weights", tell.weights_title(), tell.weights_note())


def _twins(hybrid: Hybrid, tell: Sentences, full: bool) -> Iterator[Block]:
    yield Paragraph(tell.twins())
    rows = ((twin.name, twin.points, twin.error, twin.low, twin.high) for twin in hybrid.twins)
    head = Column("Estimate"), *figures("Points", "Error", "Least", "Largest")
    errors = table("Simulated errors, in percent of the target's range", head, rows)
    instead = () if full else (errors,)
    yield Picture("twins", tell.twins_title(), tell.twins_note(), not hybrid.has_sizes, instead)
    if full:
        yield errors


def _sizes(facts: Facts, tell: Sentences) -> Iterator[Block]:
    yield Paragraph(tell.sizes())
    yield Picture("sizes", tell.sizes_title(), tell.sizes_caution(), True, tuple(paragraphs(tell.sizes_caution())))
    rows = (
        Row(
            (
                size.size,
                f"{size.change}{' (selected)' if size.is_chosen else ''}",
                size.r_squared,
                size.interval,
                size.criterion,
            ),
            "chosen" if size.is_chosen else "",
        )
        for size in facts.sizes
    )
    head = Column("Columns", "size"), Column("Against the one above"), *figures("R²", "Interval", "Criterion")
    yield Table("Best models by size", head, tuple(rows))


def _sure(chances_of: Sure, tell: Sentences, full: bool) -> Iterator[Block]:
    yield Paragraph(f"{tell.sure()} {tell.sure_priors()}")
    chances = tuple(f"If {prior}" for prior in chances_of.priors)
    columns = table("The chance that each column matters", (Column("Column"), *figures(*chances)), chances_of.columns)
    yield Picture("chances", tell.sure_title(), tell.sure_note(), True, () if full else (columns,))
    if full:
        yield columns
    yield table("The likeliest models", (Column("Model"), *figures(*chances)), chances_of.models)
    if full:
        averaged = [text for prior in chances for text in (prior, f"{chances_of.confidence} interval")]
        title = "Coefficients in the columns' own units, averaged over all models"
        yield table(title, (Column("Column"), *figures(*averaged)), chances_of.coefficients)
