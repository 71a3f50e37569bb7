"""Swope et al. 2024, table 1: sizes of the tables, and how well a lasso explains each."""

from discreet.report.study import Column, Picture, Row, Study
from discreet_papers.experiment import PRINTED, Experiment, Work
from discreet_papers.swope_tables import ABSENT, DIFFERS, FILES, explained, microarray, scaled, standardized

_TABLE_1 = {
    "Alon": (62, 2000, 0.4822),
    "Borovecki": (31, 22283, 0.9011),
    "Burczynski": (127, 22283, 0.2175),
    "Chiaretti": (128, 12625, 0.2705),
    "Chin": (118, 22215, 0.5879),
    "Chowdary": (104, 22283, 0.8338),
    "Christensen": (217, 1413, 0.7870),
    "Golub": (72, 7129, 0.6819),
    "Gordon": (181, 12533, 0.2432),
    "Gravier": (168, 2905, 0.0689),
    "Khan": (63, 2308, 0.6961),
    "Shipp": (77, 7129, 0.4204),
    "Singh": (102, 12600, 0.6449),
    "Sorlie": (85, 457, 0.9300),
    "Su": (102, 5564, 0.9602),
    "Subramanian": (50, 10100, 0.5340),
    "Tian": (173, 12625, 0.0080),
    "West": (49, 7129, 0.7044),
    "Yeoh": (248, 12625, 0.4611),
}
QUANTITIES = ("n", "d", "R²")

FOUND = Column(
    "standard deviation 1",
    False,
    "The table at hand; R² of the lasso on columns and target of standard deviation 1, as in the other figures here.",
)
TARGET = Column(
    "largest value 1, target standard deviation 1",
    False,
    "R² where columns are centered and divided by their largest absolute values and the target by its standard "
    "deviation.",
)
SCALED = Column(
    "largest value 1", False, "R² where columns and target are centered and divided by their largest absolute values."
)


def table_1(work: Work) -> list[Row]:
    """Compute the line of a table: n, d and R^2 in three scalings."""
    X, y = microarray(work.parquet(FILES[work.part]))
    squares = {
        FOUND.name: explained(standardized(X), standardized(y)),
        TARGET.name: explained(scaled(X), standardized(y)),
        SCALED.name: explained(scaled(X), scaled(y)),
    }
    sizes = [
        Row(FOUND.name, {"data set": work.part, "quantity": quantity}, float(size))
        for quantity, size in zip(QUANTITIES[:2], X.shape, strict=True)
    ]
    return sizes + [Row(way, {"data set": work.part, "quantity": QUANTITIES[2]}, r2) for way, r2 in squares.items()]


EXPERIMENTS = (
    Experiment(
        Study(
            "swope-table-1",
            "The tables, and how well a lasso explains them",
            "Swope et al. 2024, table 1",
            (
                "Rows n, columns d, and the share R² of the target's variance that a lasso of penalty .1 explains on "
                "the rows it is fitted to, without privacy. Classes are coded 1 to K in the order of the source.",
                "The paper does not say how columns and target were scaled before. None of three scalings gives its "
                "R²; nearest, by about .1 on average, is that with a largest value of 1 in the columns and a standard "
                "deviation of 1 in the target.",
            ),
            (PRINTED, FOUND, TARGET, SCALED),
            tuple(
                Row(PRINTED.name, {"data set": name, "quantity": quantity}, float(value))
                for name, values in _TABLE_1.items()
                for quantity, value in zip(QUANTITIES, values, strict=True)
            ),
            (ABSENT, *DIFFERS.values()),
            (
                Picture(
                    "r-squared",
                    "R² of the lasso",
                    "dots",
                    "data set",
                    "Data set",
                    "R²",
                    where={"quantity": QUANTITIES[2]},
                    low=0.0,
                    high=1.0,
                ),
            ),
            tuple(FILES.values()),
            1,
        ),
        tuple(FILES),
        table_1,
    ),
)
"""Table 1."""
