"""One node of `perspective`, compiled once and kept on disk: the relaxation by coordinate descent, and its bound.

A unit's block of the Gram matrix is the identity. With Q = G - D, D = diag(strength) and Q positive semidefinite, any
vector u bounds every model S from below, as b'Qb >= 2 u'Qb - u'Qu:

    RSS(S) + penalties(S) >= yty - u'Qu + sum over S of (penalty_g - |a_g|^2 / strength_g),   a = xty - Q u.

The best u is the solution of the perspective relaxation, in which a unit may be in a model in part.
"""

import numba
import numpy as np

FREE, INSIDE, OUTSIDE = 0, 1, 2
"""What is decided of a unit."""

SWEEPS = 100
"""The most rounds of coordinate descent: any vector gives a bound, a better one a better bound."""

STILL = 1e-6
"""A round that moves no coefficient by more, in standard errors, is the last."""

ROUNDS = 4
"""The most relaxations of a node: each after the first knows more units that are decided."""

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compile
def visit(  # type: ignore[no-untyped-def]
    problem, penalties, costs, sizes, cutoff, state, b, space
):  # fmt: skip # pragma: no cover - compiled
    """Bound the models of a node, and decide units; return the bound, the unit to branch on or -1, and the work.

    `penalties` shape the relaxation, `costs` are what a unit adds to the criterion; `sizes` are the fewest and the most
    units of a model. `state` and `b` are changed; `space` holds the residual moments, each unit's value, an order, the
    part of each unit, and the model that the relaxation suggests.
    """
    rest, values, order, parts, model = space
    work = 0.0
    bound, is_final = -np.inf, False
    for _ in range(ROUNDS):
        work += _relax(problem, penalties, state, b, rest)
        base = _values(problem, costs, b, rest, values)
        bound, is_final = _decide(base, sizes, cutoff, state, values, order)
        work += len(values) * 8.0
        if bound >= cutoff or is_final:
            break
    if bound >= cutoff:
        return bound, -1, work
    return bound, _branch(problem, penalties, state, b, sizes, parts, values, model), work


@_compile
def _relax(problem, penalties, state, b, rest):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Solve the perspective relaxation; `rest` becomes xty - G b. Returns the work."""
    gram, xty, starts, strength, _ = problem
    work = 1.0 * len(xty)
    rest[:] = xty
    for j in range(len(xty)):
        if b[j] != 0.0:
            for i in range(len(xty)):
                rest[i] -= b[j] * gram[j, i]
            work += len(xty)
    for _ in range(SWEEPS):
        moved = 0.0
        for g in range(len(state)):
            low, high = starts[g], starts[g + 1]
            square = 0.0
            for j in range(low, high):
                square += (rest[j] + b[j]) ** 2
            # The unit's own problem, r = rest + b: |b|^2 - 2 r'b + min over z in (0, 1] of strength |b|^2 (1 / z - 1) +
            # penalty z.
            length, factor = np.sqrt(square), 1.0
            if state[g] == 2:
                factor = 0.0
            elif state[g] == 0 and length * length * strength[g] < penalties[g]:
                # Below it the penalty is 2 sqrt(strength penalty) |b|; above, strength |b|^2 + penalty.
                threshold = np.sqrt(strength[g] * penalties[g])
                factor = (length - threshold) / ((1.0 - strength[g]) * length) if length > threshold else 0.0
            for j in range(low, high):
                change = factor * (rest[j] + b[j]) - b[j]
                if change != 0.0:
                    b[j] += change
                    for i in range(len(xty)):
                        rest[i] -= change * gram[j, i]
                    moved = max(moved, abs(change))
                    work += len(xty)
        work += len(xty)
        if moved < STILL:
            break
    return work


@_compile
def _values(problem, costs, b, rest, values):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Compute what each unit adds to the bound, and return the bound without any."""
    _, xty, starts, strength, yty = problem
    # At u = b: a = xty - Q b = rest + strength b, and u'Qu = b'Gb - strength |b|^2.
    base = yty
    for g in range(len(values)):
        square, size = 0.0, 0.0
        for j in range(starts[g], starts[g + 1]):
            base -= b[j] * (xty[j] - rest[j])  # b'Gb
            size += b[j] * b[j]
            square += (rest[j] + strength[g] * b[j]) ** 2
        base += strength[g] * size
        values[g] = costs[g] - square / strength[g]
    return base


@_compile
def _decide(base, sizes, cutoff, state, values, order):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the bound of a node and whether nothing more was decided; fix units without which no model is wanted."""
    fewest, most = sizes
    bound, n_inside, n_free = base, 0, 0
    for g in range(len(state)):
        if state[g] == 1:
            bound += values[g]
            n_inside += 1
        elif state[g] == 0:
            i = n_free
            while i > 0 and values[order[i - 1]] > values[g]:
                order[i] = order[i - 1]
                i -= 1
            order[i] = g
            n_free += 1
    if n_inside > most or n_inside + n_free < fewest:
        return np.inf, True
    # The units that lower the bound most, as far as there is room, and others until there are enough.
    taken = 0
    while taken < n_free and n_inside + taken < most and (values[order[taken]] < 0.0 or n_inside + taken < fewest):
        bound += values[order[taken]]
        taken += 1
    if bound >= cutoff:
        return bound, True
    # The bound with a unit forced out leaves its place to the next one where one must take it, or gains; with a unit
    # forced in the last one goes where there is no more room, or where it was taken for the number alone.
    first_out = values[order[taken]] if taken < n_free else np.inf
    last_in = values[order[taken - 1]] if taken > 0 else -np.inf
    is_full, is_short = n_inside + taken == most, n_inside + taken <= fewest
    instead_in = first_out if is_short else min(0.0, first_out)
    instead_out = -last_in if is_full else (-max(last_in, 0.0) if is_short else 0.0)
    is_final = True
    for i in range(n_free):
        g = order[i]
        if i < taken and bound - values[g] + instead_in >= cutoff:
            state[g], is_final = 1, False
        elif i >= taken and bound + values[g] + instead_out >= cutoff:
            state[g], is_final = 2, False
    return bound, is_final


@_compile
def _branch(problem, penalties, state, b, sizes, parts, values, model):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the free unit that is least decided, or -1; `model` becomes the one that the relaxation suggests."""
    starts, strength = problem[2], problem[3]
    n_inside, branch, most_open = 0, -1, -1.0
    for g in range(len(state)):
        model[g] = state[g] == 1
        n_inside += state[g] == 1
        square = 0.0
        for j in range(starts[g], starts[g + 1]):
            square += b[j] * b[j]
        # The z of the relaxation: how much of the unit is in.
        parts[g] = min(1.0, np.sqrt(square * strength[g] / penalties[g])) if penalties[g] > 0.0 else 1.0
        if state[g] == 0:
            openness = min(parts[g], 1.0 - parts[g]) + 1e-6 / (1.0 + abs(values[g]))
            if openness > most_open:
                branch, most_open = g, openness
    while n_inside < sizes[1]:
        best = -1
        for g in range(len(state)):
            if state[g] == 0 and not model[g] and (best < 0 or parts[g] > parts[best]):
                best = g
        if best < 0 or (parts[best] < 0.5 and n_inside >= sizes[0]):
            break
        model[best] = True
        n_inside += 1
    return branch
