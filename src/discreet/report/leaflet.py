"""The page for somebody who is in the table, as plain data."""

from discreet.report.content import (
    Block,
    Column,
    Items,
    Page,
    Paragraph,
    Section,
    Sentences,
    Table,
    figures,
    paragraphs,
    table,
)
from discreet.report.facts import Facts
from discreet.report.promise import Promise


def leaflet(facts: Facts) -> Page:
    """Return what a participant is told."""
    say, tell = Sentences("sentences.j2", facts), Sentences("participant.j2", facts)
    promised = () if facts.promise is None else (_promised(facts.promise, say, tell),)
    return Page(
        title=f"{'' if facts.is_private else 'Not private: '}{tell.title()}",
        description=tell.title(),
        banner=None if facts.is_private else (say.banner_title(), say.banner()),
        eyebrow="for participants",
        heading=tell.title(),
        lead=tuple(text for text in (facts.study or "", tell.asked(), tell.done()) if text),
        glance=(),
        sections=(
            *promised,
            Section("open", "What is not promised", (Items(tuple(tell.each("each_limit"))),)),
            Section("used", "How much is used up", (Paragraph(say.ledger()),)),
            Section("ask", "Whom to ask", (Paragraph(say.contact()),)),
        ),
    )


def beliefs(promise: Promise, say: Sentences, caption: str) -> Table:
    """Return the worst beliefs after a release."""
    rows = ((say.odds_label(line.kind), line.epsilon, *line.after) for line in promise.odds)
    return table(
        caption, (Column("Belief before"), *figures("ε", *(f"from {prior}" for prior in promise.priors))), rows
    )


def _promised(promise: Promise, say: Sentences, tell: Sentences) -> Section:
    blocks: tuple[Block, ...] = (
        Paragraph(tell.promise()),
        *paragraphs(tell.several(), style="minded"),
        beliefs(promise, say, tell.odds()),
        *paragraphs(say.weak(), style="warning"),
    )
    return Section("promised", "What is promised to you", blocks)
