"""The race of the canonical Lipschitz mechanism's classes in float64, for as long as float64 decides."""

import math

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")

FOUND, CLOSE, SHORT = 0, 1, 2
"""A winner; a comparison closer than the error; out of words or of room."""

NODE = np.dtype(
    [
        ("head", np.int64),
        ("start", np.int64),
        ("stop", np.int64),
        ("log_energy", np.float64),
        ("error", np.float64),
        ("log_count", np.float64),
        ("bound", np.float64),
        ("parent", np.int64),
        ("word", np.int64),
    ]
)
"""Classes of one head with tails of ranks start .. stop - 1. `parent` and `word` say how its energy was drawn."""

RELATIVE = 2.0**-48
"""Bounds the relative error of the float operations of one bound, its logarithms included."""


@_compile
def shrinkage(n, less, size):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return 1 less the ratio of C(n - less, size) to C(n, size), relatively accurate, and that ratio's log."""
    # C(n - l, s) / C(n, s) = prod over i < l of (1 - s / (n - i)), and the same with l and s exchanged.
    short, long = min(less, size), max(less, size)
    drop, product, log_ratio = 0.0, 1.0, 0.0
    for i in range(short):
        x = long / (n - i)
        if x >= 1.0:
            return 1.0, -np.inf
        drop += x * (1.0 - drop)  # 1 - prod (1 - x) by positive terms only: nothing cancels
        product *= 1.0 - x
        if product < 1e-200:
            log_ratio += math.log(product)
            product = 1.0
    return drop, log_ratio + (math.log1p(-drop) if drop < 0.5 and log_ratio == 0.0 else math.log(product))


@_compile
def _energy(word):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Log of an exponential number from the first 64 bits of its uniform one, and a bound of its error."""
    above = np.float64(~word)
    if above < 2.0:
        return -64.0 * math.log(2.0), np.inf
    if word >= np.uint64(2**63):
        return math.log(-math.log1p(-(above + 0.5) * 2.0**-64)), 0.6 / (above + 0.5) + RELATIVE
    if word == np.uint64(0):
        return math.log(64.0 * math.log(2.0)), np.inf
    below = np.float64(word)
    return math.log(-math.log((below + 0.5) * 2.0**-64)), 0.6 / below + RELATIVE


@_compile
def _noise(log_energy, gumbel):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """The largest of the noises whose smallest energy this is: -log energy, or -log(1 - exp(-energy))."""
    if gumbel or log_energy < -40.0:
        return -log_energy
    if log_energy > 6.6:
        return 0.0
    return -math.log(-math.expm1(-math.exp(log_energy)))


@_compile
def _push(heap, size, nodes, node):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if nodes[heap[up]].bound >= nodes[node].bound:
            break
        heap[at] = heap[up]
        at = up
    heap[at] = node


@_compile
def _pop(heap, size, nodes):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Take the largest bound out of a heap of `size` nodes."""
    top, last = heap[0], heap[size - 1]
    at, size = 0, size - 1
    while True:  # `at` at least doubles each time
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and nodes[heap[child + 1]].bound > nodes[heap[child]].bound:
            child += 1
        if nodes[heap[child]].bound <= nodes[last].bound:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
    return top


@_compile
def _ranked(ascending, gone, rank):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """The score of a rank, from 1 for the largest, among those whose rank among all is not gone."""
    low, high = 0, len(gone)
    while low < high:  # gone[j] is passed by the rank if so many as gone[j] - j are left up to it
        half = (low + high) >> 1
        if gone[half] - half <= rank:
            low = half + 1
        else:
            high = half
    return ascending[len(ascending) - rank - low]


@_compile
def _set(nodes, at, ascending, gone, k, slope, gamma, gumbel):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Bound the node's best value: its largest noise less its least loss, that of its first tail."""
    node, loss, reach = nodes[at], 0.0, 0.0
    if node.head >= 0:
        last = _ranked(ascending, gone, k)
        best_out = np.float64(_ranked(ascending, gone, node.head + 1) - last)
        worst_in = np.float64(_ranked(ascending, gone, node.start) - last)
        loss = (1.0 - gamma) * best_out - gamma * worst_in
        reach = (1.0 - gamma) * abs(best_out) + gamma * abs(worst_in)
    noise = _noise(node.log_energy, gumbel)
    nodes[at].bound = noise - slope * loss
    nodes[at].error += RELATIVE * (1.0 + abs(noise) + slope * reach)


@_compile
def search(ascending, gone, k, slope, gamma, gumbel, log_counts, words, nodes, heap, count_error):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Draw the class that wins, opening a block of classes only while it can.

    Returns FOUND, CLOSE or SHORT; the winning node, or the one whose split is undecided, or -1; the number of blocks in
    the heap; where the undecided split cuts; and the number of words used. Shapes: ascending (d,), log_counts (k,),
    gone (m,), the ranks, increasing, of scores that take no part.
    """
    used, n_nodes, size = 0, 0, 0
    for head in range(-1, k):
        nodes[n_nodes].head, nodes[n_nodes].start, nodes[n_nodes].stop = head, k + 1, len(ascending) - len(gone) + 1
        log_count = log_counts[head] if head >= 0 else 0.0
        log_energy, error = _energy(words[used])
        nodes[n_nodes].log_energy, nodes[n_nodes].error = log_energy - log_count, error + count_error
        nodes[n_nodes].log_count, nodes[n_nodes].parent, nodes[n_nodes].word = log_count, -1, used
        if head < 0:
            nodes[n_nodes].stop = k + 2  # one set alone: the k best
        _set(nodes, n_nodes, ascending, gone, k, slope, gamma, gumbel)
        _push(heap, size, nodes, n_nodes)
        used, n_nodes, size = used + 1, n_nodes + 1, size + 1
    while True:  # a node of several classes is cut into smaller ones, and one of a single class ends it
        top = _pop(heap, size, nodes)
        size -= 1
        node = nodes[top]
        if node.stop - node.start == 1:
            for i in range(size):
                rival = nodes[heap[i]]
                if not rival.bound + rival.error < node.bound - node.error:
                    _push(heap, size, nodes, top)
                    return CLOSE, -1, size + 1, 0, used
            return FOUND, top, size, 0, used
        if used + 2 > len(words) or n_nodes + 2 > len(nodes):
            return SHORT, -1, size, 0, used
        cut = k + int(math.sqrt(float(node.start - k) * float(node.stop - k)))
        cut = min(max(cut, node.start + 1), node.stop - 1)
        positions, members = node.stop - node.head - 2, k - node.head
        # Counts over C(stop - h - 2, k - h), but the lower part's over C(cut - h - 2, k - h): log_cut is the log of
        # their ratio.
        whole, _ = shrinkage(positions, node.stop - node.start, members)
        upper, log_cut = shrinkage(positions, node.stop - cut, members)
        lower, _ = shrinkage(cut - node.head - 2, cut - node.start, members)
        # The block's smallest energy lies in a part with probability that part's share; the other part's exceeds it by
        # an exponential number of its own rate.
        share = upper / whole
        chance = (np.float64(words[used]) + 0.5) * 2.0**-64
        if abs(chance - share) <= 2.0**-52 + 4.0 * (k + 16) * 2.0**-52 * min(share, 1.0):
            return CLOSE, top, size, cut, used
        log_energy, error = _energy(words[used + 1])
        log_upper = node.log_count + math.log(share)
        log_lower = node.log_count + log_cut + math.log(lower / whole)
        for part in range(2):
            start, stop = (node.start, cut) if part == 0 else (cut, node.stop)
            holds = (chance < share) == (part == 1)
            own = log_lower if part == 0 else log_upper
            nodes[n_nodes].head, nodes[n_nodes].start, nodes[n_nodes].stop = node.head, start, stop
            nodes[n_nodes].log_count, nodes[n_nodes].parent = own, top
            nodes[n_nodes].word = -1 if holds else used + 1
            nodes[n_nodes].log_energy, nodes[n_nodes].error = node.log_energy, node.error
            if not holds:
                gap = log_energy - own
                more, less = max(node.log_energy, gap), min(node.log_energy, gap)
                nodes[n_nodes].log_energy = more + math.log1p(math.exp(less - more))
                nodes[n_nodes].error = node.error + error + count_error
            _set(nodes, n_nodes, ascending, gone, k, slope, gamma, gumbel)
            _push(heap, size, nodes, n_nodes)
            n_nodes, size = n_nodes + 1, size + 1
        used += 2


@_compile
def _hash(bits):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    return np.int64((bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(50))


@_compile
def places(scores, bits, values, value_bits, starts, ties):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the indices of scores given by value and by place among equal ones.

    Shapes: scores (d,), bits (d,), values (m,), value_bits (m,), starts (m + 1,); returns (len(ties),).
    """
    indices = np.empty(len(ties), np.int64)
    n_before, ahead = np.zeros(len(values), np.int64), starts[:-1].copy()
    # Most scores are ruled out by a table of hashes of the wanted ones.
    is_possible = np.zeros(2**14, np.bool_)
    for j in range(len(values)):
        is_possible[_hash(value_bits[j])] = True
    for i in range(len(scores)):
        score = scores[i]
        # 0 and -0 are equal, with unlike bits: zeros are compared.
        if not is_possible[_hash(bits[i])] and score != 0:
            continue
        low, high = 0, len(values)
        while high - low > 1:
            half = (low + high) >> 1
            if values[half] <= score:
                low = half
            else:
                high = half
        if values[low] == score:
            if ahead[low] < starts[low + 1] and ties[ahead[low]] == n_before[low]:
                indices[ahead[low]] = i
                ahead[low] += 1
            n_before[low] += 1
    return indices
