"""What checks of methods share: trials of a release on two tables, against a law or against each other.

A law needs the scale of the noise: it is taken from the release, where it is public. What a method computes from the
rows is computed by the checks anew, by its definition, so that a wrong scale, a wrong sensitivity and a wrong sum are
all seen.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from discreet.selftest import laws
from discreet.selftest.evidence import Evidence, Floats, loss_of_laws, misfit_of_counts, shown_by_draws
from discreet.selftest.tables import Row, opened

DELTA = 1e-6
REPLACE = "replace_one"


def two_choices(
    make: Callable[[], Any],
    pair: Sequence[Any],
    scores: Callable[[Any], Floats],
    n: int,
    target: str = "y",
    **about: Any,
) -> Evidence:
    """Compare a selection of one of two columns with the law of its noise.

    Parameters
    ----------
    make : callable
        Returns an estimator.
    pair : sequence of (rows, Table)
        Neighbors; draws are from the first.
    scores : callable
        Of rows: the smaller the better, one for x1 and one for x2.
    n : int
        Draws.
    target : str
        The target column.
    **about : Any
        Further fields of the evidence.

    Returns
    -------
    Evidence
        By exact law.
    """
    releases = [make().fit(pair[0][1], target=target).release_ for _ in range(n)]
    other = make().fit(pair[1][1], target=target).release_
    scales = {release.noise.scale for release in [*releases, other]}
    noise = str(other.noise.noise)
    chances = [laws.least_law(scores(rows), other.noise.scale, noise) for rows, _ in pair]
    counts = [sum(tuple(release.selected) == (name,) for release in releases) for name in ("x1", "x2")]
    fault = "" if len(scales) == 1 else "the printed scale depends on the rows"
    fault = fault if sum(counts) == n else "neither of two columns was selected"
    misfit = misfit_of_counts(counts, chances[0]) if sum(counts) == n else 0.0
    return Evidence(shown=loss_of_laws(*chances), how="exact law", n_draws=n, misfit=misfit, fault=fault, **about)


def by_draws(
    make: Callable[[], Any],
    pair: Sequence[tuple[Sequence[Row], Any]],
    outcome: Callable[[Any], Hashable],
    n: int,
    distance: int,
    target: str = "y",
    **about: Any,
) -> Evidence:
    """Bound the loss of a pair from below by draws on both tables.

    Parameters
    ----------
    make : callable
        Returns an estimator.
    pair : sequence of (rows, Table)
        Tables that are `distance` units apart.
    outcome : callable
        Of a release.
    n : int
        Draws on each.
    distance : int
        With so many units the promise is for distance times epsilon.
    target : str
        The target column.
    **about : Any
        Further fields of the evidence; `epsilon` and `delta` of one unit.

    Returns
    -------
    Evidence
        By draws.
    """
    found = [[outcome(make().fit(table, target=target).release_) for _ in range(n)] for _, table in pair]
    epsilon, delta = about.pop("epsilon"), about.pop("delta")
    delta = delta * sum(math.exp(epsilon * place) for place in range(distance))
    shown, reach = shown_by_draws(found[0], found[1], delta)
    if distance > 1:
        about["case"] += f"; {distance} units apart"
    return Evidence(
        epsilon=epsilon * distance, delta=delta, shown=shown, how="draws", n_draws=2 * n, reach=reach, **about
    )


def pair_of(relation: str, base: Sequence[Row], old: Row, new: Row) -> list[tuple[Sequence[Row], Any]]:
    """Return two neighbors of columns x1, x2 and y: a row is replaced, or added.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    base : sequence of sequence of float
        Rows of both.
    old : sequence of float
        The row that is replaced.
    new : sequence of float
        The row that comes.

    Returns
    -------
    list of (rows, Table)
        Two of them.
    """
    tables = ([*base, old] if relation == REPLACE else list(base), [*base, new])
    return [(each, opened(["x1", "x2", "y"], each, relation)) for each in tables]


def distance_for(epsilon: float) -> int:
    """Return how many units to move, so that the promise is for a loss that draws can show.

    Parameters
    ----------
    epsilon : float
        Of one unit, in nats.

    Returns
    -------
    int
        About 1 / epsilon, at least 1.
    """
    return max(1, round(1.0 / epsilon))


def draws_for(epsilon: float) -> int:
    """Return how often to draw in the short run: most where epsilon is 1, where draws tell most.

    Parameters
    ----------
    epsilon : float
        In nats.

    Returns
    -------
    int
        300 or 75.
    """
    return 300 if epsilon == 1.0 else 75


def about(subject: str, case: str, claim: str, relation: str, epsilon: float) -> dict[str, Any]:
    """Return what a piece of evidence is about.

    Parameters
    ----------
    subject : str
        The estimator.
    case : str
        The pair.
    claim : str
        Name of its claim.
    relation : str
        Which tables are neighbors.
    epsilon : float
        Claimed, in nats.

    Returns
    -------
    dict of str to Any
        Fields of `Evidence`; delta is 0.
    """
    return {
        "subject": subject,
        "case": case,
        "claim": f"methods/{claim}.privacy.md",
        "neighboring": relation,
        "epsilon": epsilon,
        "delta": 0.0,
    }
