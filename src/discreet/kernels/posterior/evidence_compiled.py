"""The evidence of all models, and a walk among them, compiled once and kept on disk.

A model holds the columns that are always in, then its units. With information A, shift u = A b_hat and prior precisions
P (diagonal), its evidence is ½ log|P_m| - ½ log|A_m + P_m| + ½ u_m' (A_m + P_m)^-1 u_m.
"""

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")

# mypy: disable-error-code="no-untyped-def"


@_compile
def _push(information, shift, precision, column, k, places, factor, solved, value):  # pragma: no cover - compiled
    """Add a column to a factorized model of k columns: a row of the Cholesky factor, and the evidence."""
    left = information[column, column] + precision[column]
    linear = shift[column]
    for i in range(k):
        entry = information[column, places[i]]
        for j in range(i):
            entry -= factor[k, j] * factor[i, j]
        entry /= factor[i, i]
        factor[k, i] = entry
        left -= entry * entry
        linear -= entry * solved[i]
    least = 1e-12 * (information[column, column] + precision[column]) + 1e-300
    root = np.sqrt(max(left, least))
    factor[k, k], solved[k], places[k] = root, linear / root, column
    # The pivot root^2 is the determinant's further factor, and solved^2 what the form u'(A + P)^-1 u gains.
    gained = 0.5 * solved[k] ** 2 - np.log(root)
    if precision[column] > 0.0:
        gained += 0.5 * np.log(precision[column])
    value[k + 1] = value[k] + gained


@_compile
def tree(information, shift, precision, n_always, starts, evidences):  # pragma: no cover - compiled
    """Fill in the evidence of every mask of units: unit j holds the columns from starts[j] on, the others come first.

    From one mask to the next number the lowest bits end and one begins, so each model costs one more row of a factor.
    """
    p, d = len(shift), len(starts) - 1
    places, factor = np.zeros(p, np.int64), np.zeros((p, p))
    solved, value, depth = np.zeros(p), np.zeros(p + 1), np.zeros(d + 1, np.int64)
    k = 0
    for column in range(n_always):
        _push(information, shift, precision, column, k, places, factor, solved, value)
        k += 1
    evidences[0] = value[k]
    depth[:] = k  # how many columns a model has before bits below j are looked at
    # Masks that agree from a bit on share the factor's first rows: units come from the highest down, and counting up
    # changes the lowest bits most often. At each mask only its lowest unit is new.
    for mask in range(1, 1 << d):
        bit = 0
        while not (mask >> bit) & 1:
            bit += 1
        k = depth[bit + 1]
        for column in range(starts[bit], starts[bit + 1]):
            _push(information, shift, precision, column, k, places, factor, solved, value)
            k += 1
        depth[: bit + 1] = k
        evidences[mask] = value[k]


@_compile
def _model(information, shift, precision, n_always, starts, is_in, places, factor, solved, value):  # pragma: no cover
    """Factorize one model; return how many columns it has."""
    k = 0
    for column in range(n_always):
        _push(information, shift, precision, column, k, places, factor, solved, value)
        k += 1
    for unit in range(len(starts) - 1):
        if is_in[unit]:
            for column in range(starts[unit], starts[unit + 1]):
                _push(information, shift, precision, column, k, places, factor, solved, value)
                k += 1
    return k


@_compile
def model_moments(informations, shifts, precisions, nodes, members, n_always, starts):  # pragma: no cover - compiled
    """Return means and covariances of the coefficients in each model, with zeros for what is not in it."""
    p, n = shifts.shape[1], len(nodes)
    means, covariances = np.zeros((n, p)), np.zeros((n, p, p))
    places, factor = np.zeros(p, np.int64), np.zeros((p, p))
    solved, value, inverse = np.zeros(p), np.zeros(p + 1), np.zeros((p, p))
    for at in range(n):
        node = nodes[at]
        information, shift, precision = informations[node], shifts[node], precisions[node]
        k = _model(information, shift, precision, n_always, starts, members[at], places, factor, solved, value)
        for i in range(k):  # the inverse of the lower factor
            for j in range(i + 1):
                entry = 1.0 if i == j else 0.0
                for m in range(j, i):
                    entry -= factor[i, m] * inverse[m, j]
                inverse[i, j] = entry / factor[i, i]
        for j in range(k):
            for i in range(j, k):
                means[at, places[j]] += inverse[i, j] * solved[i]
        for a in range(k):
            for b in range(a + 1):
                entry = 0.0
                for i in range(a, k):
                    entry += inverse[i, a] * inverse[i, b]
                covariances[at, places[a], places[b]] = entry
                covariances[at, places[b], places[a]] = entry
    return means, covariances


@_compile
def _uniform(state):  # pragma: no cover - compiled
    """A number in [0, 1) by xorshift64*: always the same sequence, as a posterior is a function of a release."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@_compile
def walk(  # pragma: no cover - compiled
    informations, shifts, precisions, offsets, size_prior, n_always, starts, n_burn, n_draws, thin, seed, members, nodes
):
    """Draw models and nodes by the Metropolis rule: add or drop a unit, swap two, or change the node.

    Fills in `members` (n_draws, d) and `nodes` (n_draws,).
    """
    p, d, n_nodes = shifts.shape[1], len(starts) - 1, len(offsets)
    places, factor = np.zeros(p, np.int64), np.zeros((p, p))
    solved, value = np.zeros(p), np.zeros(p + 1)
    is_in, proposed, state = np.zeros(d, np.uint8), np.zeros(d, np.uint8), np.zeros(1, np.uint64)
    state[0] = np.uint64(seed)
    node = int(np.argmax(offsets))
    start = informations[node], shifts[node], precisions[node]
    k = _model(start[0], start[1], start[2], n_always, starts, is_in, places, factor, solved, value)
    current = value[k] + offsets[node] + size_prior[0]
    size, n_kept, step = 0, 0, 0
    while n_kept < n_draws:
        proposed[:] = is_in
        new_node, new_size, kind = node, size, _uniform(state)
        if kind < 0.15:
            new_node = min(int(_uniform(state) * n_nodes), n_nodes - 1)
        elif kind < 0.65:
            unit = min(int(_uniform(state) * d), d - 1)
            proposed[unit] = 1 - proposed[unit]
            new_size += 1 if proposed[unit] else -1
        elif 0 < size < d:  # one that is in for one that is not, each as likely
            leaves, enters = int(_uniform(state) * size), int(_uniform(state) * (d - size))
            for unit in range(d):
                if is_in[unit]:
                    if leaves == 0:
                        proposed[unit] = 0
                    leaves -= 1
                else:
                    if enters == 0:
                        proposed[unit] = 1
                    enters -= 1
        k = _model(
            informations[new_node], shifts[new_node], precisions[new_node],
            n_always, starts, proposed, places, factor, solved, value,
        )  # fmt: skip
        new = value[k] + offsets[new_node] + size_prior[new_size]
        # Each kind of proposal is as likely back as forth, so the ratio of weights alone decides.
        if np.log(_uniform(state) + 1e-300) < new - current:
            is_in[:] = proposed
            node, size, current = new_node, new_size, new
        step += 1
        if step > n_burn and (step - n_burn) % thin == 0:
            members[n_kept] = is_in
            nodes[n_kept] = node
            n_kept += 1
