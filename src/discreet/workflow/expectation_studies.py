"""The figures of a plan as studies, tables with pictures: what to expect of selections and of fits."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet.report.study import Column, Findings, Picture, Row, Study
from discreet.report.words import number
from discreet.workflow.expectation import Expectation

MEASURES = {
    "right": ("Exactly the right columns", "Chance of exactly the right columns"),
    "overlap": ("Overlap", "Columns that are right and selected, over those that are either"),
    "explained": ("Explained", "Adjusted R² of the selected columns over that of the right ones"),
}

MOST_CURVES = 6
"""Curves that can be told apart."""


def figures_of(name: str, title: str, description: str, columns: Iterable[str], *pictures: Picture) -> Study:
    """Return a study of a plan, of figures that need no code to be made."""
    ways = tuple(Column(way, True, "") for way in columns)
    return Study(name, title, "", (description,), ways, (), (), pictures, (), 0)


def _best(rows: Sequence[Mapping[str, Any]], asked: Sequence[str]) -> list[str]:
    """Names of the selections, the request at hand and then the best first: few enough to be told apart."""
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["rival"]] = totals.get(row["rival"], 0.0) + row["overlap"]
    return sorted(totals, key=lambda name: (name not in asked, -totals[name]))[:MOST_CURVES]


def _settings(expectation: Expectation, row: Mapping[str, Any]) -> dict[str, Any]:
    settings = {"rows": row["n_rows"]} if len(expectation.supposed["n_rows"]) > 1 else {}
    return settings | ({"supposed": row["scenario"]} if len(expectation.supposed["scenarios"]) > 1 else {})


def scenarios(expectation: Expectation) -> Findings | None:
    """Return what each scenario supposes, where there are several."""
    listed = expectation.supposed["scenarios"]
    if len(listed) < 2:
        return None
    rows = [
        Row(way, {"supposed": findings["scenario"]}, value)
        for findings in listed
        for way, value in {
            "times": findings["times"],
            "correlation": findings["correlation"],
            "R²": findings["r_squared"],
            "noise sd": findings["noise_sd"],
            **{f"effect of {name}": size for name, size in findings["effects"].items() if size},
        }.items()
        if value is not None
    ]
    ways = dict.fromkeys(row.column for row in rows)
    description = "The pictures show each; a choice should do well in all of them that may be true."
    return Findings(figures_of("supposed", "What is supposed", description, ways), tuple(rows), 0)


def needed(measure: str, expectation: Expectation) -> Findings | None:
    """Return the epsilon that each selection needs."""
    description = (
        f"The least epsilon at which the goal is reached, of: {MEASURES[measure][1].lower()}. Selections that do not "
        "reach it are left out."
    )
    rows = tuple(
        Row("epsilon", {"selection": row["rival"], **_settings(expectation, row)}, row["epsilon"])
        for row in expectation.rows
    )
    if not rows:
        return None
    picture = Picture(
        "goal",
        "Epsilon that is needed",
        "dots",
        "selection",
        "Selection",
        "Epsilon (nats)",
        low=0.0,
        high=max(row.value for row in rows),
        **_panels(rows),
    )
    return Findings(figures_of("goal", "The epsilon that is needed", description, ["epsilon"], picture), rows, 0)


def accuracy(expectation: Expectation) -> list[Findings | None]:
    """Return curves against epsilon, and against the number of rows."""
    epsilons = sorted({row["epsilon"] for row in expectation.rows})
    names = _best(expectation.rows, expectation.asked)
    studies: list[Findings | None] = []
    for measure, (title, description) in list(MEASURES.items())[:2]:
        rows = tuple(
            Row(
                row["rival"],
                {"epsilon": row["epsilon"], **_settings(expectation, row)},
                row[measure],
                row["error"] if measure == "right" else None,
            )
            for row in expectation.rows
        )
        several: dict[str, Any] = {"across": "rows"} if len(expectation.supposed["n_rows"]) > 1 else {}
        if any("supposed" in row.settings for row in rows):
            several["down"] = "supposed"
        few = (
            f" The picture shows the {len(names)} with the best overlap." if len(_all(expectation)) > len(names) else ""
        )
        words = f"{description}.{few} The table has all of them."
        view: dict[str, Any] = {"low": 0.0, "high": 1.0, "columns": tuple(names), **several}
        if len(epsilons) > 1:
            curve = Picture("epsilon", description, "lines", "epsilon", "Epsilon (nats)", title, log=True, **view)
            studies.append(
                Findings(figures_of(measure, f"{title}, against epsilon", words, _all(expectation), curve), rows, 0)
            )
        if len(expectation.supposed["n_rows"]) > 1:
            view |= {"across": "epsilon"}
            curve = Picture("rows", description, "lines", "rows", "Rows of the table", title, log=True, **view)
            studies.append(
                Findings(
                    figures_of(f"{measure}-rows", f"{title}, against the rows", words, _all(expectation), curve),
                    rows,
                    0,
                )
            )
    return studies


def _all(expectation: Expectation) -> list[str]:
    return list(dict.fromkeys(row["rival"] for row in expectation.rows))


def compared(expectation: Expectation, epsilon: float) -> Findings | None:
    """Return all selections at one epsilon."""
    rows = sorted(
        (row for row in expectation.rows if row["epsilon"] == epsilon), key=lambda row: (-row["overlap"], -row["right"])
    )
    dots = tuple(
        Row(
            title,
            {"selection": row["rival"], **_settings(expectation, row)},
            row[measure],
            row["error"] if measure == "right" else None,
        )
        for row in rows
        for measure, (title, _) in MEASURES.items()
    )
    if not dots:
        return None
    several = _panels(dots)
    picture = Picture(
        "comparison",
        f"At epsilon {number(epsilon)}",
        "dots",
        "selection",
        "Selection",
        "Share",
        low=0.0,
        high=1.0,
        **several,
    )
    titles = [title for title, _ in MEASURES.values()]
    description = (
        "; ".join(f"{title}: {description[0].lower() + description[1:]}" for title, description in MEASURES.values())
        + "."
    )
    return Findings(
        figures_of("comparison", f"All selections at epsilon {number(epsilon)}", description, titles, picture), dots, 0
    )


def fits(expectation: Expectation) -> Findings | None:
    """Return errors and interval widths of a private regression on the right columns."""
    ways = {"half_width": "half of the interval's width", "error": "mean absolute error"}
    rows = tuple(
        Row(description, {"epsilon": row["epsilon"], **_settings(expectation, row)}, row[name])
        for row in expectation.fits
        for name, description in ways.items()
        if row[name] is not None
    )
    if not rows:
        return None
    has_many_epsilons = len({row.settings["epsilon"] for row in rows}) > 1
    several = _panels(rows)
    description = (
        "A private linear regression of the right columns at the whole epsilon. Both figures are in the target's unit, "
        "per half range of a column: the unit of the supposed effects."
    )
    picture = Picture(
        "epsilon",
        "Error and interval width",
        "lines",
        "epsilon",
        "Epsilon (nats)",
        "Target's unit",
        log=has_many_epsilons,
        **several,
    )
    return Findings(
        figures_of("fit", "Coefficients of the right columns", description, ways.values(), picture), rows, 0
    )


def _panels(rows: Sequence[Row]) -> dict[str, Any]:
    """Settings beside those of every plan have panels of their own."""
    return {
        way: name
        for way, name in (("across", "rows"), ("down", "supposed"))
        if any(name in row.settings for row in rows)
    }
