"""Sliders of a plan's page: epsilon, rows and what is supposed, with the curve and the command that follow at once.

Everything is computed beforehand and lies in the page; its script only looks it up. The page's policy names the digest
of that one script, so that no other text of the page can run.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from discreet.report.words import count, number

EPSILON_MARK = "EPSILON"
"""Stands in a command for the chosen epsilon."""


@dataclass(frozen=True)
class Explorer:
    """What a reader may choose from, and what follows from it.

    Parameters
    ----------
    epsilons : tuple of float
        In nats, increasing.
    rows : tuple of int
        Numbers of rows.
    scenarios : tuple of str
        What is supposed, in words.
    figures : tuple of mapping
        A line a selection at one epsilon, number of rows and scenario: `rival`, `epsilon`, `n_rows`, `place` of the
        scenario, `right`, `overlap`, `error`.
    commands : mapping of str to str
        By selection, with `EPSILON_MARK` for the epsilon.
    on_unkind : mapping of str to float
        By selection its overlap on unkind tables, which decides between those whose overlaps differ by `close` at most.
    close : float
        From 0 to 1.
    """

    epsilons: tuple[float, ...]
    rows: tuple[int, ...]
    scenarios: tuple[str, ...]
    figures: tuple[Mapping[str, Any], ...]
    commands: Mapping[str, str]
    on_unkind: Mapping[str, float] = field(default_factory=dict)
    close: float = 0.0

    @property
    def sliders(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """Names, titles and values of the sliders; what has one value has none."""
        all_sliders = (
            ("epsilon", "Epsilon", tuple(number(value) for value in self.epsilons)),
            ("rows", "Rows of the table", tuple(count(value) for value in self.rows)),
            ("scenario", "Supposed", self.scenarios),
        )
        return tuple(slider for slider in all_sliders if len(slider[2]) > 1)

    @property
    def data(self) -> Markup:
        """All figures as JSON that can stand inside an element: no text in it closes one."""
        content = {
            "epsilons": self.epsilons,
            "rows": self.rows,
            "labels": {name: values for name, _, values in self.sliders},
            "figures": [dict(line) for line in self.figures],
            "commands": dict(self.commands),
            "unkind": dict(self.on_unkind),
            "close": self.close,
            "mark": EPSILON_MARK,
        }
        text = json.dumps(content).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        return Markup(text)  # noqa: S704 - no mark of HTML is left in it


def script() -> Markup:
    """Return the page's only script."""
    text = files("discreet.report").joinpath("templates", "explorer.js").read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - ours


def script_policy() -> str:
    """Return what the page's policy says of scripts: the digest of ours, and none else."""
    digest = b64encode(hashlib.sha256(str(script()).encode()).digest()).decode()
    return f"script-src 'sha256-{digest}'"


def explored(
    figures: Sequence[Mapping[str, Any]],
    scenarios: Mapping[str, str],
    commands: Mapping[str, str],
    on_unkind: Mapping[str, float] | None = None,
    close: float = 0.0,
) -> Explorer:
    """Return sliders over all that was simulated."""
    places = {name: place for place, name in enumerate(scenarios)}
    fields = ("rival", "epsilon", "n_rows", "right", "overlap", "error")
    return Explorer(
        tuple(sorted({line["epsilon"] for line in figures})),
        tuple(sorted({line["n_rows"] for line in figures})),
        tuple(scenarios.values()),
        tuple({name: line[name] for name in fields} | {"place": places[line["scenario"]]} for line in figures),
        commands,
        on_unkind or {},
        close,
    )
