"""Coefficients as an aligned table for a terminal."""

from discreet.release import Release
from discreet.report.estimates import NOTHING, Coefficient, Fit, fit
from discreet.report.widths import cells, squeezed
from discreet.report.words import visible

_GAP = "  "

PUBLIC = "public alone"
"""Heading of the estimates that cost nothing."""


def coefficient_table(release: Release, width: int = 100) -> str:
    """Return a release's coefficients as an aligned table."""
    record = fit(release)
    if record is None:
        return ""
    is_hybrid = release.hybrid is not None
    rows = [_row(coefficient, record) for coefficient in record.coefficients]
    head = _cells(
        "", "estimate", f"{record.confidence} interval", (record.ratio or "").lower(), "privacy", record, PUBLIC
    )
    widths = [max(cells(row[at]) for row in [head, *rows]) for at in range(len(head))]
    room = max(12, width - sum(widths[1:]) - len(_GAP) * (len(head) - 1))
    widths[0] = min(widths[0], room)
    lines = [_line(row, widths) for row in [head, *rows]]
    return "\n".join([lines[0], "\u2500" * min(width, cells(lines[0])), *lines[1:], *_notes(record, is_hybrid)])


def _row(coefficient: Coefficient, record: Fit) -> list[str]:
    mark = " *" if coefficient.is_empty else ""
    return _cells(
        visible(coefficient.name) + mark,
        coefficient.estimate,
        coefficient.interval,
        coefficient.ratio,
        coefficient.share,
        record,
        coefficient.public,
    )


def _cells(name: str, estimate: str, interval: str, ratio: str, share: str, record: Fit, public: str) -> list[str]:
    """What a line holds for this kind of regression."""
    ratios = [ratio] if record.ratio else []
    if record.has_intervals:
        return [name, estimate, interval, *ratios, share]
    return [name, estimate, *ratios, *([public] if record.has_public else [])]


def _line(row: list[str], widths: list[int]) -> str:
    name = squeezed(row[0], widths[0])
    others = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
    return _GAP.join([name + " " * (widths[0] - cells(name)), *others])


def _verdict(verdict: str) -> str:
    differ = {"ruled out": "its levels differ", "not ruled out": "its levels may not differ"}
    return f"{differ[verdict]} (all coefficients 0 is {verdict})" if verdict in differ else verdict


def _notes(record: Fit, is_hybrid: bool) -> list[str]:
    if is_hybrid:
        note = [f"{PUBLIC}: from the public records without weights, at no cost"] if record.has_public else []
        return ["no intervals: this method gives none", *note]
    if not record.has_intervals:
        return ["no intervals: the version that made this release gave them only with a delta"]
    notes = ["privacy: the share of the interval's variance that is privacy noise"]
    notes += [f"{word}: {meaning}" for word, meaning in record.one_sided]
    notes += [f"{visible(whole.name)} as a whole: {_verdict(whole.verdict)}" for whole in record.wholes]
    return [*notes, f"*: {NOTHING}, because of the noise"] if record.n_empty else notes
