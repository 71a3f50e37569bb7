"""The tables of a plan: of one scenario, or of several side by side with their worst and mean."""

from collections.abc import Callable, Sequence
from typing import Any

from discreet import workflow
from discreet.cli.console import number
from discreet.digits import plain
from discreet.report.widths import cells, squeezed
from discreet.report.words import short, visible

WIDTH = 100

MOST_SHOWN = 8
"""Scenarios side by side; of more the worst and the mean alone are shown."""

MOST_CURVES = 5
"""Selections in the first table of a plan that is not asked in full."""

MEASURES = {"overlap": "Overlap", "right": "Chance of the right columns", "explained": "Explained"}

Rows = list[dict[str, Any]]


def scenario_names(n_scenarios: int) -> list[str]:
    """Return the names of scenarios.

    A letter each.
    """
    return [chr(ord("A") + place) for place in range(n_scenarios)]


def scenario_table(supposed: dict[str, Any]) -> list[str]:
    """Return a row a scenario.

    What differs, and the effects as far as there is room.
    """
    has_correlation = "like" not in supposed
    head = ["  scenario", "times", *(["correlation"] if has_correlation else []), "R²", "noise sd"]
    rows = [[*head, f"effects on {visible(supposed['target'])}"]]
    for scenario in supposed["scenarios"]:
        label = ", ".join(f"{visible(name)} {short(size)}" for name, size in scenario["effects"].items() if size)
        related = [number(scenario["correlation"])] if has_correlation else []
        figures = [number(scenario["times"]), *related, f"{scenario['r_squared']:.2f}", short(scenario["noise_sd"])]
        rows.append([f"  {scenario['scenario']}", *figures, label or "none"])
    widths = [max(cells(row[at]) for row in rows) for at in range(len(head))]
    lines = []
    for row in rows:
        first = f"{row[0]:<{widths[0]}}"
        figures = [f"{cell:>{width}}" for cell, width in zip(row[1:-1], widths[1:], strict=True)]
        start = "  ".join([first, *figures])
        lines.append(f"{start}  {squeezed(row[-1], WIDTH - cells(start) - 2)}")
    return lines


def curve(
    expectation: "workflow.Expectation", epsilons: tuple[float, ...], rows: Rows, title: str, most: int | None = None
) -> list[str]:
    """Return a row a method, a column an epsilon; the request at hand first, then best first, at most so many.

    Chances of the right columns; of several scenarios their mean, and the worst in brackets.
    """
    rows_by_name: dict[str, dict[float, Rows]] = {}
    for row in rows:
        rows_by_name.setdefault(row["rival"], {}).setdefault(row["epsilon"], []).append(row)
    several = len({row["scenario"] for row in rows}) > 1
    merit = {
        name: sum(_mean(own, "right") + 0.1 * _mean(own, "overlap") for own in rows_by_name[name].values())
        for name in rows_by_name
    }
    heading = "Right columns: mean chance (worst)" if several else "Chance of the right columns"
    table = [[heading, *(f"eps {number(epsilon)}" for epsilon in epsilons)]]
    names = sorted(rows_by_name, key=lambda name: (name not in expectation.asked, -merit[name]))
    chosen = [] if expectation.recommended is None else [expectation.recommended.rival]
    shown = [name for place, name in enumerate(names) if most is None or place < most or name in chosen]
    for name in shown:
        figures = []
        for epsilon in epsilons:
            own = rows_by_name[name].get(epsilon)
            worst = f" ({_worst(own, 'right'):.2f})" if own and several else ""
            figures.append(f"{_mean(own, 'right'):.2f}{worst}" if own else "-")
        table.append([name, *figures])
        if rows[0]["n_rows"] == expectation.supposed["n_rows"][0]:
            table += _beside(expectation, name, epsilons)
    more = len(names) - len(shown)
    return [*aligned(table, title), *([f"and {more} selection{'s' if more > 1 else ''} more"] if more else [])]


def _beside(expectation: "workflow.Expectation", name: str, epsilons: tuple[float, ...]) -> list[list[str]]:
    """A row for unkind tables and one for half the people, of a selection that has been tried on them."""
    unlucky = [expectation.worst(name, epsilon, "right") for epsilon in epsilons]
    fewer = {row["epsilon"]: row for row in expectation.fewer if row["rival"] == name}
    rows = {
        "  if you are unlucky": [None if row is None else row["right"] for row in unlucky],
        "  with half the people": [fewer[epsilon]["right"] if epsilon in fewer else None for epsilon in epsilons],
    }
    return [
        [label, *("-" if figure is None else f"{figure:.2f}" for figure in figures)]
        for label, figures in rows.items()
        if any(figure is not None for figure in figures)
    ]


def comparison(
    expectation: "workflow.Expectation", rows: Rows, epsilon: float, title: str, full: bool
) -> list[list[str]]:
    """Return the comparison of the methods at one epsilon, the best mean overlap first.

    A table for one scenario; for several, one for each measure.
    """
    names = list(dict.fromkeys(row["scenario"] for row in rows))
    if len(names) < 2:
        return [_one_comparison(expectation, rows, epsilon, title)]
    rows_by_name: dict[str, Rows] = {}
    for row in rows:
        rows_by_name.setdefault(row["rival"], []).append(row)
    best = sorted(
        rows_by_name,
        key=lambda name: (
            name not in expectation.asked,
            -_mean(rows_by_name[name], "overlap"),
            -_mean(rows_by_name[name], "right"),
        ),
    )
    shown = names if len(names) <= MOST_SHOWN else []
    tables = []
    for measure, label in list(MEASURES.items())[: 3 if full else 2]:
        table = [[f"{label} at epsilon {number(epsilon)}", *shown, "worst", "mean"]]
        for name in best:
            own = {row["scenario"]: row for row in rows_by_name[name]}
            figures = [f"{own[name_][measure]:.2f}" if name_ in own else "-" for name_ in shown]
            table.append(
                [
                    name,
                    *figures,
                    f"{_worst(rows_by_name[name], measure):.2f}",
                    f"{_mean(rows_by_name[name], measure):.2f}",
                ]
            )
        tables.append(aligned(table, title))
    return tables


def _one_comparison(expectation: "workflow.Expectation", rows: Rows, epsilon: float, title: str) -> list[str]:
    choices = {choice.name: choice for choice in expectation.choices}
    table = [[f"At epsilon {number(epsilon)}", "overlap", "right", "error", "tables", "explained", "delta", "models"]]
    for row in sorted(rows, key=lambda row: (row["rival"] not in expectation.asked, -row["overlap"], -row["right"])):
        choice = choices[row["rival"]]
        figures = [f"{row['overlap']:.2f}", f"{row['right']:.2f}", f"{row['error']:.2f}"]
        figures += [str(row["n_draws"]), f"{row['explained']:.2f}"]
        models = (
            "-"
            if choice.n_models is None
            else f"{choice.n_models:,}"
            if choice.n_models < 10**6
            else f"{choice.n_models:.1g}"
        )
        table.append([row["rival"], *figures, number(choice.delta), models])
    return aligned(table, title)


def needed(goal: tuple[str, float], expectation: "workflow.Expectation", rows: Rows, title: str) -> list[str]:
    """Return the epsilon that each method needs, least first."""
    measure, least = goal
    names = [scenario["scenario"] for scenario in expectation.supposed["scenarios"]]
    if len(names) > 1:
        return _needed_of_all(names, goal, expectation, rows, title)
    rows_by_name = {row["rival"]: row for row in rows}
    table = [[f"For {measure} >= {number(least)}", "epsilon", measure, *(["error"] if measure == "right" else [])]]
    for name in sorted(
        (choice.name for choice in expectation.choices), key=lambda name: rows_by_name.get(name, {}).get("epsilon", 1e9)
    ):
        row = rows_by_name.get(name)
        error = [] if measure != "right" else [f"{row['error']:.2f}" if row else "-"]
        table.append(
            [name, plain(row["epsilon"], 2) if row else "not reached", f"{row[measure]:.2f}" if row else "-", *error]
        )
    return aligned(table, title)


def _needed_of_all(
    names: list[str], goal: tuple[str, float], expectation: "workflow.Expectation", rows: Rows, title: str
) -> list[str]:
    rows_by_name: dict[str, dict[str, float]] = {choice.name: {} for choice in expectation.choices}
    for row in rows:
        rows_by_name[row["rival"]][row["scenario"]] = row["epsilon"]
    most = {name: max(own.values()) if len(own) == len(names) else 1e9 for name, own in rows_by_name.items()}
    shown = names if len(names) <= MOST_SHOWN else []
    table = [[f"Epsilon for {goal[0]} >= {number(goal[1])}", *shown, "in all"]]
    for name in sorted(rows_by_name, key=lambda name: (most[name], -len(rows_by_name[name]))):
        own = [f"{rows_by_name[name][measure]:.2g}" if measure in rows_by_name[name] else "-" for measure in shown]
        table.append([name, *own, f"{most[name]:.2g}" if most[name] < 1e9 else "not reached"])
    return aligned(table, title)


def fits(epsilons: Sequence[float], rows: Rows, title: str) -> list[str]:
    """Return how sharp a fit of the right columns is, a row an epsilon.

    None where there is no fit; of several scenarios mean and worst.
    """
    if not rows:
        return []
    several = len({row["scenario"] for row in rows}) > 1
    heads = ["error", "half width", "coverage", "uninformative"]
    if several:
        heads = ["mean error", "worst", "mean half width", "worst", "least coverage"]
    table = [["A linear fit of the right columns", *heads]]
    for epsilon in epsilons:
        own = [row for row in rows if row["epsilon"] == epsilon]
        if not own:
            continue
        figures = [_figure(own, name, _mean, "#.3g") for name in ("error", "half_width")]
        figures += [_figure(own, name, _mean, ".2f") for name in ("coverage", "uninformative")]
        if several:
            figures = [_figure(own, name, how, "#.3g") for name in ("error", "half_width") for how in (_mean, _most)]
            figures.append(_figure(own, "coverage", _worst, ".2f"))
        table.append([f"epsilon {number(epsilon)}", *figures])
    return aligned(table, title)


def _figure(rows: Rows, name: str, how: Callable[[Rows, str], float], form: str) -> str:
    """A figure of the rows that have it, or a dash where none has."""
    having = [row for row in rows if row[name] is not None]
    return format(how(having, name), form) if having else "-"


def _mean(rows: Rows, name: str) -> float:
    return float(sum(row[name] for row in rows)) / len(rows)


def _worst(rows: Rows, name: str) -> float:
    return float(min(row[name] for row in rows))


def _most(rows: Rows, name: str) -> float:
    return float(max(row[name] for row in rows))


def aligned(table: list[list[str]], title: str) -> list[str]:
    """Return names to the left, figures to the right, within the width of a terminal.

    With a rule under the head.
    """
    head = [table[0][0] + title, *table[0][1:]]
    rows = [[visible(cell) for cell in row] for row in [head, *table[1:]]]
    widths = [max(cells(row[at]) for row in rows) for at in range(len(head))]
    widths[0] = max(12, min(widths[0], WIDTH - sum(widths[1:]) - 2 * (len(head) - 1)))
    lines = []
    for row in rows:
        name = squeezed(row[0], widths[0])
        figures = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([name + " " * (widths[0] - cells(name)), *figures]))
    return [lines[0], "─" * min(WIDTH, cells(lines[0])), *lines[1:]]
