"""Swope et al. 2024, figures 2 to 7: the share of the best k columns that each way selects, against epsilon."""

from collections.abc import Callable
from functools import partial

import numpy as np

from discreet.accounting.guarantee import exact_epsilon
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import canonical_lipschitz, one_shot
from discreet.methods.screening.sis import IndependenceScreening
from discreet.report.study import Column, Picture, Row, Study
from discreet.typing import Floats, Integers
from discreet_papers.experiment import Experiment, Work
from discreet_papers.figures import mean_row
from discreet_papers.swope_draws import Printed, most_voted, votes
from discreet_papers.swope_tables import ABSENT, DIFFERS, FILES, PRODUCTS, SYNTH, Wide

Draw = Callable[[float, Source], Integers]

EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
SMALL, LARGE = "5", "log d"
"""The paper's numbers of columns to select, as parts are named."""

REPLACED = 2
"""The most that one replaced row changes a sum of products by, cells and target in [-1, 1]."""

PUBLISHED = Column(
    "DP-SIS as published",
    False,
    "Algorithm 1 with the top-k mechanism as printed, at the epsilon that it claims. It takes 1 for the sensitivity, "
    "which is right when a record comes or goes, but 2 when one is replaced. Its classes overlap: a set counts up to k "
    "times, depending on the order of the scores, so that where two nearly equal ones change places chances change by "
    "a factor of up to k at any epsilon. That voids the guarantee for either kind of neighbors.",
)
HONEST = Column(
    "DP-SIS honest",
    True,
    "The same mechanism with disjoint classes and the sensitivity 2: epsilon-differentially private when a record is "
    "replaced, given public bounds. Gamma is 1/2, as in the paper.",
)
TWO_STAGE = Column(
    "two-stage",
    True,
    "Each of about root n blocks names up to k columns by a lasso of penalty .1; exponential noise of scale 2k/epsilon "
    "on each count, which is epsilon-differentially private when a record is replaced. Rows are thrown into blocks at "
    "random, anew in each draw.",
)
OURS = Column(
    "Discreet, auto",
    True,
    "discreet select --method sis at the same epsilon, with the rule that chooses the mechanism from public facts: "
    "one noise a column, or the corrected canonical Lipschitz mechanism with gamma 3/4. The target's zero is public, "
    "as for all ways, and not estimated.",
)
NO_NOISE = Column("screening, no noise", False, "The k columns with the largest absolute sums of products.")
NO_NOISE_VOTES = Column("two-stage, no noise", False, "The k columns with the most votes, ties at random.")

WAYS = (PUBLISHED, HONEST, TWO_STAGE, OURS, NO_NOISE, NO_NOISE_VOTES)
COMPARED = (PUBLISHED, HONEST, OURS)

BOUNDS = (
    "The paper centers columns and target and divides them by their largest absolute values, all read off the rows, "
    "which is not private. No public declaration of bounds exists for these tables. So all ways take the same scaled "
    "columns, and the private ones treat the scaling as if it had been declared: this is a study of public tables, and "
    "a private one needs bounds that are known without it."
)
DESIGN = (
    "Classes are coded 1 to K in the order of the source. The best columns are those with the largest coefficients "
    "of a lasso of all rows without privacy, penalty .1, as in the paper. The paper does not say in what units; here "
    "columns and target have standard deviation 1, for with other scalings the lasso keeps fewer columns than are to "
    "be selected on some tables."
)
SIMULATION = (
    "100 rows of 2000 independent normal columns, eight of which have effects of random sign and a size of 1.84 or "
    "more, and normal errors (Fan and Lv 2008, 3.3.1). The paper's 1.5 of these may be a variance or a standard "
    "deviation; Fan and Lv's is read here as a standard deviation. The best columns are those with the largest "
    "effects. One table is drawn; the repeats are draws of the mechanisms."
)
CLAIMS = (
    "The paper finds two-stage selection clearly ahead on no table and at no epsilon, and DP-SIS clearly ahead mostly "
    "above 1. As published both hold here, the second from 5 on at the earliest. With an honest account the first "
    "fails: on Sorlie two-stage selection is ahead by about .1 at epsilon 10. The gains come at about twice the "
    "epsilon, if at all, and the rule that chooses the mechanism brings part of them back. Up to epsilon 2 hardly "
    "anything is found in any way on any table: these have 31 to 248 rows."
)


def best(worth: Floats, k: int) -> Integers:
    """Return the places of the k best columns."""
    return np.argsort(-worth, kind="stable")[:k]


def screenings(table: Wide, k: int) -> dict[str, Draw]:
    """Return the ways to draw from a table's scores, by name: functions of epsilon and a source."""
    (n, d), printed = table.X.shape, Printed(table.scores, k)
    steps = np.rint(table.scores * GRID**2).astype(np.int64)

    def ours(epsilon: float, rng: Source) -> Integers:
        method = IndependenceScreening(epsilon=epsilon, n_features_to_select=k, noise_test=False)
        top_k = method.top_k(d, exact_epsilon(epsilon), REPLACED * GRID**2, GRID**2, n)
        return np.array(top_k.draw(steps, rng))

    return {
        PUBLISHED.name: lambda epsilon, rng: printed.draw(epsilon, 1.0, rng),
        HONEST.name: lambda epsilon, rng: canonical_lipschitz(table.scores, k, epsilon, REPLACED, rng, gamma=0.5),
        OURS.name: ours,
    }


def accuracies(table: Wide, k: int, work: Work) -> dict[tuple[str, str, float | None], Floats]:
    """Draw by every way at every epsilon, and return the shares of the best k columns.

    By way, by what columns are the best, and epsilon (None without noise); each of shape (repeats,).
    """
    rng, right = Source.seeded(work.seed), {by: best(worth, k) for by, worth in _worths(table).items()}
    shares: dict[tuple[str, str, float | None], list[float]] = {}

    def rate(way: str, epsilon: float | None, chosen: Integers) -> None:
        for by, places in right.items():
            shares.setdefault((way, by, epsilon), []).append(float(np.isin(places, chosen).mean()))

    draws = screenings(table, k)
    for _ in range(work.repeats):
        counts = votes(table.X, table.y, k, rng)
        rate(NO_NOISE_VOTES.name, None, most_voted(counts, k, rng))
        for epsilon in EPSILONS:
            rate(TWO_STAGE.name, epsilon, one_shot(counts, k, epsilon, 1, rng))
            for way, draw in draws.items():
                rate(way, epsilon, draw(epsilon, rng))
    rate(NO_NOISE.name, None, best(table.scores, k))
    return {key: np.array(values) for key, values in shares.items()}


def _worths(table: Wide) -> dict[str, Floats]:
    return {table.best_by: table.worth, PRODUCTS: table.scores}


def curves(work: Work, name: str) -> list[Row]:
    """Compute figures 2 to 5 for one number of columns, by way, by what columns are the best, and epsilon."""
    table = Wide.read(name, work)
    k = int(SMALL) if work.part == SMALL else table.log_d
    rows = []
    for (way, by, epsilon), values in accuracies(table, k, work).items():
        settings = {"k": k, "best by": by} | ({} if epsilon is None else {"epsilon": epsilon})
        rows.append(mean_row(way, settings, values))
    return rows


def differences(work: Work, size: str) -> list[Row]:
    """Compute a line of figures 6 and 7, accuracies less that of two-stage selection, by way and epsilon."""
    table = Wide.read(work.part, work)
    shares = accuracies(table, int(SMALL) if size == SMALL else table.log_d, work)
    rows = []
    for way in COMPARED:
        for epsilon in EPSILONS:
            gains = shares[way.name, table.best_by, epsilon] - shares[TWO_STAGE.name, table.best_by, epsilon]
            settings = {"data set": work.part, "epsilon": epsilon}
            rows.append(mean_row(way.name, settings, gains))
    return rows


def _curves(number: int, name: str, note: str) -> Experiment:
    sizes = "5 and 8" if name == SYNTH else "5 and log d, rounded down"
    return Experiment(
        Study(
            f"swope-figure-{number}",
            f"How many of the best columns are found: {name}",
            f"Swope et al. 2024, figure {number}",
            (
                f"The figure is the share of the best k columns that is selected, k = {sizes}, a mean over draws. The "
                "paper prints no numbers, so the first way is the algorithm as published.",
                SIMULATION if name == SYNTH else DESIGN,
                BOUNDS,
                "Columns are rated twice: as in the paper, and by the sums of products themselves, which is what "
                "screening aims at and two-stage selection does not. The paper does not say how noise is added to "
                "two-stage selection's counts.",
                note,
            ),
            WAYS,
            (),
            (DIFFERS[name],) if name in DIFFERS else (),
            (
                Picture(
                    "accuracy",
                    f"Share of the best columns that is selected: {name}",
                    "lines",
                    "epsilon",
                    "Total epsilon (nats)",
                    "Share of the best k",
                    across="k",
                    down="best by",
                    log=True,
                    low=0.0,
                    high=1.0,
                ),
            ),
            () if name == SYNTH else (FILES[name],),
            100,
        ),
        (SMALL, LARGE),
        partial(curves, name=name),
    )


def _heat(number: int, size: str) -> Experiment:
    size_text = SMALL if size == SMALL else "log d rounded down, and 8 on Synth"
    return Experiment(
        Study(
            f"swope-figure-{number}",
            f"Screening less two-stage selection on all tables, k = {size}",
            f"Swope et al. 2024, figure {number}",
            (
                "The figure is the share of the best k columns that a way selects, less the share that two-stage "
                f"selection selects at the same epsilon, a mean over draws; k is {size_text}. The paper prints no "
                "numbers, so the first way is the algorithm as published.",
                DESIGN,
                SIMULATION,
                BOUNDS,
                CLAIMS,
            ),
            COMPARED,
            (),
            (ABSENT, *DIFFERS.values()),
            tuple(
                Picture(
                    f"heat-{place + 1}",
                    f"{way.name} less two-stage",
                    "heat",
                    "epsilon",
                    "Total epsilon (nats)",
                    "Difference of shares",
                    y="data set",
                    low=-0.5,
                    high=0.5,
                    columns=(way.name,),
                )
                for place, way in enumerate(COMPARED)
            ),
            tuple(FILES.values()),
            100,
        ),
        (*FILES, SYNTH),
        partial(differences, size=size),
    )


EXPERIMENTS = (
    _curves(
        2,
        "Christensen",
        "The paper finds DP-SIS ahead of two-stage selection for epsilon from 1 to 10. As published it is ahead here "
        "from 5 on; with an honest account it is level with it at 5 and ahead from 10 on.",
    ),
    _curves(
        3,
        "Sorlie",
        "The paper finds DP-SIS ahead for epsilon above 1. As published it is ahead here at 10 and 20. With an honest "
        "account it is ahead at 20 alone, and two-stage selection is ahead of it at 10.",
    ),
    _curves(
        4,
        "Yeoh",
        "The paper finds DP-SIS ahead for epsilon above 2. As published it is ahead here at 5 and 10, with an honest "
        "account at 10; at 20 two-stage selection has nearly caught up, for it is not bound by what screening can "
        "reach.",
    ),
    _curves(
        5,
        SYNTH,
        "The paper finds DP-SIS ahead for epsilon above 10. As published it is ahead here at 20. With an honest "
        "account no way finds a tenth of the effects up to 20.",
    ),
    _heat(6, SMALL),
    _heat(7, LARGE),
)
"""Figures 2 to 7."""
