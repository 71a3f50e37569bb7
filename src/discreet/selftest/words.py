"""The findings in words and as plain values."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet.selftest.evidence import Evidence
from discreet.selftest.suite import NOT_SHOWN

COLUMNS = ("function", "pair", "neighboring", "claimed", "shown", "by", "draws", "p", "")


def report(found: Sequence[Evidence], about: Mapping[str, str]) -> str:
    """Return the report: each function with claimed and shown epsilon, controls, and what was not shown.

    Lines of text.
    """
    checks = sorted((one for one in found if not one.is_control), key=_order)
    controls = [one for one in found if one.is_control]
    return "\n".join(
        [
            ", ".join(f"{name} {value}" for name, value in about.items()),
            "",
            *_table(checks),
            "",
            "Controls: the product broken at one place, which must be flagged:",
            *_table(controls),
            "",
            "Not shown here:",
            *(f"- {line}" for line in NOT_SHOWN),
            "",
            summary(found),
        ]
    )


def summary(found: Sequence[Evidence]) -> str:
    """Return the outcome in a sentence or two.

    How many checks and controls came out as they must, and which did not.
    """
    checks, controls = ([one for one in found if one.is_control is kind] for kind in (False, True))
    wrong = [one for one in checks if one.is_flagged]
    unseen = [one for one in controls if not one.is_flagged]
    lines = [
        f"{len(checks) - len(wrong)} of {len(checks)} checks are as claimed; "
        f"{len(controls) - len(unseen)} of {len(controls)} controls were flagged."
    ]
    lines += [f"NOT AS CLAIMED: {one.subject}, {one.case}, {one.neighboring}, epsilon {one.epsilon:g}: "
              f"{'; '.join(one.reasons)}." for one in wrong]  # fmt: skip
    lines += [f"NOT FLAGGED: {one.subject}, {one.case}: the tester is blind to it." for one in unseen]
    return "\n".join(lines)


def values(found: Iterable[Evidence]) -> list[dict[str, Any]]:
    """Return findings as plain values.

    For JSON.
    """
    return [
        {
            "function": one.subject,
            "case": one.case,
            "claim": one.claim or None,
            "neighboring": one.neighboring,
            "epsilon": one.epsilon,
            "delta": one.delta,
            "shown": one.shown if math.isfinite(one.shown) else None,
            "by": one.how,
            "draws": one.n_draws,
            "p_value": one.misfit,
            "control": one.is_control,
            "flagged": one.is_flagged,
            "reasons": list(one.reasons),
        }
        for one in sorted(found, key=_order)
    ]


def _order(one: Evidence) -> tuple[Any, ...]:
    return one.is_control, one.subject, one.case, one.neighboring, one.epsilon


def _table(found: Sequence[Evidence]) -> list[str]:
    rows = [COLUMNS, *(_row(one) for one in found)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    lines, before = list[str](), ("", "")
    for row in rows:
        name = "" if row[0] == before[0] else row[0]
        case = "" if row[:2] == before else row[1]
        lines += ["", name] if name and row is not rows[0] else [name] if name else []
        lines += [f"  {case}"] if case else []
        lines.append(
            "    " + "  ".join(cell.ljust(width) for cell, width in zip(row[2:], widths[2:], strict=True)).rstrip()
        )
        before = (row[0], row[1])
    return lines


def _row(one: Evidence) -> tuple[str, ...]:
    return (
        one.subject,
        one.case,
        one.neighboring,
        f"{one.epsilon:.4g}" + (f", {one.delta:.1g}" if one.delta else ""),
        f"{one.shown:.4g}",
        one.how,
        str(one.n_draws),
        "" if one.misfit is None else f"{one.misfit:.2g}",
        "FLAGGED" if one.is_flagged else "as claimed",
    )
