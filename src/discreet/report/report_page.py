"""The report for a board and for analysts, as plain data."""

from collections.abc import Iterator
from typing import get_args

from discreet.release import Release
from discreet.report import pictures
from discreet.report.brief import answer
from discreet.report.content import (
    Block,
    Column,
    Entries,
    Entry,
    Formula,
    Items,
    Names,
    Page,
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
from discreet.report.estimate_sections import estimate_sections
from discreet.report.facts import Audience, Facts, check_choice, gather
from discreet.report.leaflet import beliefs, leaflet
from discreet.report.noise_box import Noise

N_LISTED = 100
"""Columns that a page names for a board."""


def page_for(release: Release, audience: Audience, contact: str | None = None) -> Page:
    """Return what a reader is told of a release, as plain data."""
    check_choice("audience", audience, get_args(Audience))
    facts = gather(release, audience, None if audience == "analyst" else N_LISTED, contact)
    return leaflet(facts) if audience == "participant" else _Report(facts).page()


def drawn(content: Page, release: Release) -> dict[str, str]:
    """Return the pictures of a page that the release allows, by name, as SVG."""
    names = [picture.name for picture in content.pictures()]
    if not names:
        return {}
    svg = pictures.draw(release)
    return {name: svg[name] for name in names if name in svg}


class _Report:
    """A report in the making."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.full = facts, facts.audience == "analyst"
        self.say = Sentences("sentences.j2", facts)
        self.tell = Sentences("estimates.j2", facts)

    def page(self) -> Page:
        """Return the report."""
        facts, say = self.facts, self.say
        sections = [
            Section("brief", "In brief", tuple(self._brief())),
            Section("asked", "What was asked", tuple(self._asked())),
            *estimate_sections(facts),
            Section("promised", "What is promised", tuple(self._promised())),
            Section("noise", "How the noise was set", tuple(self._noise())),
            Section("declared", "What was declared public", tuple(self._declared())),
            Section("open", "What is not protected", tuple(self._open())),
            Section("unsaid", "What this release does not say", (self._unsaid(),)),
            Section("ledger", "Ledger", tuple(self._ledger())),
            Section("ask", "Whom to ask", (Paragraph(say.contact()),)),
            Section("origin", "Where it comes from", (self._origin(),)),
        ]
        return Page(
            title=f"{'' if facts.is_private else 'Not private: '}{say.answer()}",
            description=say.question(),
            banner=None if facts.is_private else (say.banner_title(), say.banner()),
            eyebrow=f"release report{' for analysts' if self.full else ''}",
            heading=say.answer(),
            lead=(*facts.chance, *((say.derived(),) if facts.derived_from else ())),
            glance=tuple(self._glance()),
            sections=tuple(section for section in sections if section.blocks),
        )

    def _glance(self) -> Iterator[tuple[str, str]]:
        promise = self.facts.promise
        yield "Data set", self.facts.dataset
        if promise is None:
            yield "Promise", "none"
            return
        yield "Protected", self.say.protected()
        yield (
            "Promise",
            f"ε\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{promise.epsilon}"
            + ("" if promise.is_pure else f", δ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{promise.delta}"),
        )
        yield f"{promise.priors[2]} belief, at worst", promise.odds[0].after[2]

    def _brief(self) -> Iterator[Block]:
        """A first page that stands alone."""
        facts, say, promise, budget = self.facts, self.say, self.facts.promise, self.facts.budget
        entries = [Entry("Table", facts.study or ""), Entry("Question", say.question()), Entry("Answer", answer(facts))]
        if promise is not None:
            entries += [Entry("Guarantee", say.guarantee()), Entry("Protected", say.protected())]
        if budget is not None:
            spent = f"{budget.currency} {budget.spent} of {budget.cap} spent for these people; {budget.left} left"
            entries.append(Entry("Budget", spent))
        yield Entries("Question, answer and guarantee", tuple(entry for entry in entries if entry.value))
        if promise is not None:
            yield Picture("odds", say.odds_title(), say.odds_note())

    def _asked(self) -> Iterator[Block]:
        facts, say = self.facts, self.say
        if facts.candidates:
            of_fit = f"Columns of the {'estimate' if facts.hybrid else 'regression'}"
            yield Names(of_fit if facts.kind == "fit" else "Candidate columns", facts.candidates)
            yield from paragraphs(say.unnamed() if facts.n_unnamed else "")
        yield from paragraphs(say.screened() if facts.screened else "")
        question = Entry("Target", facts.target), Entry("Method", say.method())
        yield Entries("The request", (*question, Entry("Data set", f"{facts.dataset}, from {facts.data}")))

    def _promised(self) -> Iterator[Block]:
        promise, say = self.facts.promise, self.say
        if promise is None:
            return
        yield Paragraph(say.promise())
        yield Formula(promise.epsilon, promise.delta, promise.is_pure)
        yield Paragraph(say.pair())
        yield from paragraphs(f"{say.delta()} {say.rho() if self.full else ''}".strip())
        yield from paragraphs(say.person(), style="minded")
        yield from paragraphs(say.weak(), style="warning")
        yield beliefs(promise, say, say.odds_about())

    def _noise(self) -> Iterator[Block]:
        facts, say = self.facts, self.say
        yield Paragraph(f"{say.noise()} {say.lead() if self.full and facts.choice else ''}".strip())
        if facts.steps:
            rows = ((step.purpose, step.noise.drawn, step.noise.scale, step.price, step.value) for step in facts.steps)
            head = Column("For"), Column("Noise"), *figures("Scale", "Privacy cost", "Released")
            yield table("The steps and their privacy costs", head, rows)
            yield Picture("steps", self.tell.steps_title(), self.tell.steps_note(), is_wide=True)
        if facts.steps and self.full:
            yield from (self._box(f"Noise: {step.purpose}", step.noise) for step in facts.steps)
        else:
            yield self._box(f"The noise{f' of one step, {facts.boxed}' if facts.steps else ''}", facts.noise)
        if facts.promise and facts.release.claims:
            yield Paragraph(say.proofs())
            if self.full:
                head = Column("Status and readers"), Column("Proofs")
                proofs = ((readers, ", ".join(names)) for readers, names in facts.proofs)
                yield table("The proofs that the promise rests on", head, proofs)
        if facts.choice:
            swaps = paragraphs(say.swaps() if facts.choice.gap else "")
            yield Picture("swap", say.swaps_title(), say.swaps_note(), instead=tuple(swaps))

    def _box(self, title: str, noise: Noise) -> Entries:
        meaning = f". {noise.numerics_meaning}" if noise.numerics_meaning else ""
        return Entries(
            f"{title}; sensitivity, inflation and scale in {noise.unit}",
            (
                Entry("Mechanism", noise.drawn),
                Entry(self.say.range(noise), noise.sensitivity),
                Entry("Formula of the sensitivity", noise.formula, is_code=True),
                Entry("Inflation, for solver and rounding errors", noise.inflation),
                Entry("Scale of the noise", self.say.scale(noise)),
                Entry("Numerics", f"{noise.numerics}{meaning}"),
                Entry(self.say.claim(), noise.claim, is_code=True),
            ),
        )

    def _declared(self) -> Iterator[Block]:
        facts, say = self.facts, self.say
        yield Paragraph(say.bounds())
        head = Column("Column"), Column("Declared"), Column("Source")
        rows = (
            Row(
                (column.name, f"{column.type}, {column.values}", column.source),
                tag="; ".join(
                    filter(None, ("" if column.role == "candidate" else say.role(column.role), column.description))
                ),
            )
            for column in facts.columns
        )
        yield Table("Bounds and levels, with their sources", head, tuple(rows))
        if facts.n_unlisted:
            yield Paragraph(f"And {facts.n_unlisted} more, listed in the analyst's report.")
        if facts.settings:
            head = Column("Parameter", "code"), Column("Value"), Column("Meaning")
            yield table("Parameters of the method", head, facts.settings)

    def _open(self) -> Iterator[Block]:
        items = self.facts.not_protected
        yield Items(items) if items else Paragraph("The release names nothing.")

    def _unsaid(self) -> Items:
        return Items((*self.say.each("each_silence"), *(self.say.each("each_advice") if self.full else ())))

    def _ledger(self) -> Iterator[Block]:
        budget, say = self.facts.budget, self.say
        yield Paragraph(say.ledger())
        if budget:
            yield Picture("budget", say.budget_title(), say.budget_note())
            worth = (Entry("The cap corresponds to", budget.worth),) if budget.worth else ()
            spent = Entry(f"{budget.currency.capitalize()} spent of the cap", f"{budget.spent} of {budget.cap}")
            head = Entry("Hash of the ledger", budget.head, is_code=True)
            yield Entries("Where the charge stands", (Entry("Entry", budget.entry), spent, *worth, head))

    def _origin(self) -> Entries:
        facts, origin = self.facts, self.facts.release.provenance
        entries = [
            Entry("Made by", f"discreet {origin.discreet}, Python {origin.python}"),
            Entry("Asked", origin.requested_at.replace("T", " ").replace("Z", " UTC")),
            Entry("Randomness", self.say.randomness()),
            Entry("Rows", origin.rows_origin or ""),
            Entry("Metadata, SHA-256", origin.metadata_sha256, is_code=True),
            Entry("Request, SHA-256", origin.request_sha256, is_code=True),
            Entry("Computed from release", facts.derived_from or "", is_code=True),
            Entry("Event", facts.event if self.full and facts.event else "", is_code=True),
        ]
        return Entries("Provenance", tuple(entry for entry in entries if entry.value))
