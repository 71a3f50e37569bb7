"""The findings in words and as plain values."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet.selftest.evidence import Evidence
from discreet.selftest.suite import NOT_SHOWN

COLUMNS = ("function", "pair", "neighboring", "claimed", "shown", "by", "draws", "p", "")


def report(results: Sequence[Evidence], about: Mapping[str, str]) -> str:
    """Return the report: each function with claimed and shown epsilon, controls, and what was not shown."""
    checks = sorted((result for result in results if not result.is_control), key=_order)
    controls = [result for result in results if result.is_control]
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
            summary(results),
        ]
    )


def summary(results: Sequence[Evidence]) -> str:
    """Return in a sentence or two how many checks and controls came out as they must, and which did not."""
    checks, controls = ([result for result in results if result.is_control is kind] for kind in (False, True))
    wrong = [result for result in checks if result.is_flagged]
    unseen = [result for result in controls if not result.is_flagged]
    lines = [
        f"{len(checks) - len(wrong)} of {len(checks)} checks are as claimed; "
        f"{len(controls) - len(unseen)} of {len(controls)} controls were flagged."
    ]
    lines += [f"NOT AS CLAIMED: {result.subject}, {result.case}, {result.neighboring}, epsilon {result.epsilon:g}: "
              f"{'; '.join(result.reasons)}." for result in wrong]  # fmt: skip
    lines += [f"NOT FLAGGED: {result.subject}, {result.case}: the tester is blind to it." for result in unseen]
    return "\n".join(lines)


def values(results: Iterable[Evidence]) -> list[dict[str, Any]]:
    """Return findings as plain values, for JSON."""
    return [
        {
            "function": result.subject,
            "case": result.case,
            "claim": result.claim or None,
            "neighboring": result.neighboring,
            "epsilon": result.epsilon,
            "delta": result.delta,
            "shown": result.shown if math.isfinite(result.shown) else None,
            "by": result.how,
            "draws": result.n_draws,
            "p_value": result.misfit,
            "control": result.is_control,
            "flagged": result.is_flagged,
            "reasons": list(result.reasons),
        }
        for result in sorted(results, key=_order)
    ]


def _order(result: Evidence) -> tuple[Any, ...]:
    return result.is_control, result.subject, result.case, result.neighboring, result.epsilon


def _table(results: Sequence[Evidence]) -> list[str]:
    rows = [COLUMNS, *(_row(result) for result in results)]
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


def _row(result: Evidence) -> tuple[str, ...]:
    return (
        result.subject,
        result.case,
        result.neighboring,
        f"{result.epsilon:.4g}" + (f", {result.delta:.1g}" if result.delta else ""),
        f"{result.shown:.4g}",
        result.how,
        str(result.n_draws),
        "" if result.misfit is None else f"{result.misfit:.2g}",
        "FLAGGED" if result.is_flagged else "as claimed",
    )
