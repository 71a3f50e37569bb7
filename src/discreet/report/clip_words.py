"""What clipping the target does to slopes and their intervals, in sentences."""

import math

from discreet.release import ClippedRecord, FitRecord
from discreet.report.words import number, thousands


def clipped(record: ClippedRecord, count_bound: int | None = None) -> str:
    """Return how many rows' target was clipped, and what it did to the slopes."""
    low, high = (thousands(number(float(end))) for end in (math.floor(record.low), math.ceil(record.high)))
    if count_bound is not None and record.high <= 0.0:
        return (
            f"Counts above {count_bound:,} would have been clipped, but no row (with a chance of 95%) has such a count."
        )
    if count_bound is not None:
        return (
            f"Counts above {count_bound:,} were clipped to {count_bound:,}, which keeps the noise small: between {low} "
            f"and {high} rows (with a chance of 95%) have such a count. The coefficients allow for this if counts "
            "follow Poisson distributions. If they vary more, slopes are smaller by about the clipped share, and the "
            "intervals may miss those of the unclipped counts."
        )
    rows = f"Between {low} and {high}" if record.counted else f"At most {high}"
    sentences = [
        f"{rows} rows (with a chance of 95%) have a target beyond the bounds, which was clipped.",
        "If errors do not depend on the columns, slopes are smaller by about the share of clipped rows.",
    ]
    if record.stretch > 0:
        sentences.append(
            f"To allow for this, the far ends of the intervals were divided by {number(1.0 - record.stretch, 3)}."
        )
    sentences.append("The errors of counts do depend on them: there the intervals may miss slopes of unclipped counts.")
    return " ".join(sentences)


def clipped_in_brief(record: FitRecord) -> str | None:
    """Return what a clip does to slopes and their intervals, in a sentence or two; None where nothing was clipped."""
    clipped = record.clipped
    if clipped is None or clipped.high < 1.0:
        return None
    rows = f"{math.ceil(clipped.high):,} row{'' if clipped.high <= 1.0 else 's'}"
    if record.count_bound is not None:
        return (
            f"Counts above {record.count_bound:,} were clipped in at most {rows}: if counts vary more than Poisson "
            "ones, the intervals may miss the slopes of the unclipped counts."
        )
    return (
        f"The target was clipped in at most {rows}: slopes may be smaller than those of the unclipped "
        "target. If it is a count, the intervals may miss the slopes of the unclipped counts."
    )
