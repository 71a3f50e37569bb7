"""Where the records of a CSV file begin and end, and where their cells: one set of rules, compiled.

A record ends at a line feed that stands in no quotes. A quote opens quotes at the beginning of a cell alone, and is a
character anywhere else. What follows a closing quote belongs to the cell. A record of several lines must be quoted as
RFC 4180 has it, to its end; where it is not, its *first line alone* is left out, and the next line is read as if that
one had never been: so a line that leaves a quote open harms itself, and not what follows.
"""

import numba
import numpy as np
import numpy.typing as npt

_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

QUOTE, FEED, RETURN = 34, 10, 13
OUTSIDE, INSIDE, BEHIND, RETURNED = 0, 1, 2, 3
"""Of quotes: outside, between two, behind the closing one, and behind a carriage return that follows it."""
AT, RECORD, SECOND, PHASE, STRAY = 0, 1, 2, 3, 4
"""Places in the state: the next byte, the record's first, its second line's or -1, the phase, and whether a quote stood
where none should."""

State = npt.NDArray[np.int64]


def state_at(start: int) -> State:
    """Return the state of `frame` before a record: `AT`, `RECORD`, `SECOND`, `PHASE`, `STRAY`."""
    return np.array([start, start, -1, OUTSIDE, 0])


@_compile
def frame(data, base, is_last, delimiter, longest, state, starts, ends):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Find the records that end in a piece of a file, from the last piece's state on; return their number."""
    # No byte is looked at more than three times, whatever the file holds. Where no quote is stray, each turns inside to
    # outside or back: a line that leaves a quote open has an odd number of them, and one that is inside at both of its
    # ends an even number. So when a record fails in its line j, no line of it before j leaves a quote open by itself.
    n, count = np.int64(len(data)), 0
    at, record, second = state[AT] - base, state[RECORD] - base, state[SECOND]
    phase, stray = state[PHASE], state[STRAY]
    while True:
        failed, ended = False, False
        if phase == OUTSIDE:
            while at < n and data[at] != QUOTE and data[at] != FEED:
                at += 1
        elif phase == INSIDE:
            while at < n and data[at] != QUOTE and (data[at] != FEED or second >= 0):
                at += 1
        if at >= n:
            if not is_last:
                break
            if phase == INSIDE:
                failed = True
            else:
                ended = True
        elif phase == OUTSIDE:
            if data[at] == FEED:
                ended = True
            # A quote at the beginning of a cell opens quotes; anywhere else it is a character, and the record may then
            # not go on in a second line.
            elif at == record or data[at - 1] == delimiter:
                phase = INSIDE
            elif second >= 0:
                failed = True
            else:
                stray = 1
        elif phase == INSIDE:
            if data[at] == QUOTE:
                phase = BEHIND
            elif stray:
                record, phase, stray = at + 1, OUTSIDE, 0  # the line is left out
            else:
                second = base + at + 1
        elif data[at] == FEED:
            ended = True
        elif data[at] == QUOTE and phase == BEHIND:
            phase = INSIDE
        elif data[at] == delimiter:
            # What was behind a carriage return is text behind a closing quote.
            failed = phase == RETURNED and second >= 0
            stray, phase = max(stray, np.int64(phase == RETURNED)), OUTSIDE
        elif data[at] == RETURN and phase == BEHIND:
            phase = RETURNED
        else:
            failed, stray, phase = second >= 0, 1, OUTSIDE
        if failed:
            phase, stray = OUTSIDE, 0
            if second < 0:  # the last line, and all of it
                record = n
                break
            # Back to the second line: the first alone is given up. It may lie in a piece that is gone; whoever reads
            # gives the bytes from there again.
            at = second - base
            record, second = at, -1
            if at < 0:
                break
            continue
        if ended:
            end = at - 1 if at > record and data[at - 1] == RETURN else at
            if record < end and end - record <= longest:
                starts[count], ends[count] = record, end
                count += 1
            record, second, phase, stray = at + 1, -1, OUTSIDE, 0
            if at >= n:
                record = n
                break
        at += 1
    state[AT], state[RECORD], state[SECOND] = base + at, base + record, second
    state[PHASE], state[STRAY] = phase, stray
    return count


@_compile
def find_cells(data, starts, ends, delimiter, places, begins, sizes, is_mixed):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Find the cells of some columns: their begins, their sizes, and whether they hold quotes to be left out.

    Shapes: starts, ends (n_rows,), begins, sizes, is_mixed (n_columns, n_rows).
    """
    for row in range(len(starts)):
        at, end = starts[row], ends[row]
        for column in range(len(places)):
            begin, size, mixed = at, 0, False
            if at < end and data[at] == QUOTE:
                at += 1
                begin = at
                while at < end:
                    if data[at] != QUOTE:
                        at += 1
                    # Two quotes within quotes are one: counted as one byte less, and to be copied one by one.
                    elif at + 1 < end and data[at + 1] == QUOTE:
                        size -= 1
                        mixed = True
                        at += 2
                    else:
                        break
                size += at - begin
                at += 1
                # Text behind the closing quote belongs to the cell, so that the closing quote lies within it. Sizes are
                # kept as differences: minus the place here, plus the place at the cell's end.
                mixed |= at < end and data[at] != delimiter
                size -= at
            else:
                size -= at
            while at < end and data[at] != delimiter:
                at += 1
            size += at
            if places[column] >= 0:
                begins[places[column], row], sizes[places[column], row] = begin, size
                is_mixed[places[column], row] = mixed
            if at >= end:
                break
            at += 1


@_compile
def copy_cells(data, begins, sizes, is_mixed, offsets, text):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Write the cells of a column one behind the other, without their quotes."""
    for row in range(len(begins)):
        at, to, stop = begins[row], offsets[row], offsets[row] + sizes[row]
        inside = is_mixed[row]
        while to < stop:
            if inside and data[at] == QUOTE:
                inside = data[at + 1] == QUOTE
                at += 1
                if not inside:
                    continue
            text[to] = data[at]
            at, to = at + 1, to + 1
