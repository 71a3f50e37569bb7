"""How well selections can be expected to do on a table like the one described: simulated, no data are opened."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from discreet.accounting.guarantee import exact_delta
from discreet.data.metadata import Metadata
from discreet.errors import DiscreetError, InvalidParameterError
from discreet.files import write_whole
from discreet.methods.registry import SCREENINGS, SELECTIONS
from discreet.release import canonical_sha256

if TYPE_CHECKING:  # they need scipy, which a command that plans nothing must not wait for
    from discreet.methods.base import Preparation
    from discreet.planning.rivals import Rival
    from discreet.planning.scenario import Scenario
    from discreet.planning.selection import Expected, Measure

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
TABLES = 12
GOAL_TABLES = 100
MOST_EPSILON = 1000.0
KEPT = "discreet/expectation-cache@1"

Told = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Question:
    """What a plan is asked.

    Parameters
    ----------
    metadata : Metadata
        What is public about the table.
    target : str
        The response, numeric.
    candidates : tuple of str, optional
        Columns that may be selected; default all that are listed.
    epsilons : tuple of float
        In nats.
    delta : float
        0 leaves out what needs one.
    n_rows : tuple of int
        Numbers of rows; empty: the public one.
    supposed : dict
        What is supposed of the table: `effects`, `n_true`, `r_squared`, `noise_sd`, `correlation`, as `Scenario.of`
        takes them.
    methods : tuple of str
        Compare these alone; empty: all.
    parameters : dict
        Of each of the named methods.
    goal : tuple of str and float, optional
        A measure, "right", "overlap" or "explained", and what it must reach.
    n_tables : int, optional
        Tables to draw; of a goal, tables for each of several steps.
    n_draws : int
        Draws of noise on each.
    seed : int
        Of the simulation.
    """

    metadata: Metadata
    target: str
    candidates: tuple[str, ...] | None
    epsilons: tuple[float, ...]
    delta: float
    n_rows: tuple[int, ...]
    supposed: Mapping[str, Any]
    methods: tuple[str, ...]
    parameters: Mapping[str, Any]
    goal: "tuple[Measure, float] | None" = None
    n_tables: int | None = None
    n_draws: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Choice:
    """A selection and what it would cost.

    Parameters
    ----------
    name : str
        With its tuning.
    method : str
        On the command line.
    parameters : dict
        As the method takes them, epsilon apart.
    delta : float
        What it spends beside epsilon.
    n_models : int or None
        Models that it chooses among; None where it does not choose among models.
    """

    name: str
    method: str
    parameters: dict[str, Any]
    delta: float
    n_models: int | None


@dataclass(frozen=True)
class Expectation:
    """How well selections do on tables that are drawn from what is supposed.

    Parameters
    ----------
    supposed : dict
        All that the tables were drawn from, defaults filled in.
    choices : tuple of Choice
        The selections.
    rows : tuple of dict
        Fields of `discreet.planning.selection.Expected`; of a goal, one a selection and number of rows, at the epsilon
        found.
    refused : dict of str to str
        Selections that cannot be had at any of the epsilons, and why.
    theory : dict or None
        The condition of Lei et al. on the penalty of a selection by pcls at one of the epsilons.
    stored : bool
        Whether it was found in the cache.
    """

    supposed: dict[str, Any]
    choices: tuple[Choice, ...]
    rows: tuple[dict[str, Any], ...]
    refused: dict[str, str]
    theory: dict[str, Any] | None
    stored: bool = False


def expect(question: Question, n_processes: int = 1, progress: Told | None = None) -> Expectation:
    """Simulate how well selections do, or find it in the user's cache.

    Parameters
    ----------
    question : Question
        What is asked.
    n_processes : int
        At most, where the work is long.
    progress : callable, optional
        Told of the tables.

    Returns
    -------
    Expectation
        From public facts alone.

    Raises
    ------
    InvalidParameterError
        When a number is out of range, a name unknown, or nobody says how many rows there are.
    MetadataError
        When a column lacks bounds or levels.

    Notes
    -----
    Cost: a selection for each table, draw, method and epsilon; nothing where the same was asked before.
    """
    _check(question)
    scenarios = _scenarios(question)
    rivals = _rivals(question, scenarios[0])
    key = _key(question, scenarios, rivals)
    known = _found(key)
    if known is not None:
        return known
    choices, refused = _choices(question, scenarios[0], rivals)
    rows: list[dict[str, Any]] = []
    for scenario in scenarios:
        usable = [rival for rival in _rivals(question, scenario) if rival.name not in refused]
        if question.goal is None:
            rows += map(asdict, _curve(question, scenario, usable, n_processes, progress))
        else:
            rows += map(asdict, _inverted(question, question.goal, scenario, usable, n_processes, progress))
    theory = _theory(question, scenarios[0], rivals)
    found = Expectation(_supposed(scenarios), choices, tuple(rows), refused, theory)
    _keep(key, found)
    return found


def _check(question: Question) -> None:
    wrong = [epsilon for epsilon in question.epsilons if not 0.0 < epsilon <= MOST_EPSILON]
    if wrong or not question.epsilons:
        raise InvalidParameterError(
            f"Each epsilon must lie in (0, {MOST_EPSILON:g}], but found {wrong[0] if wrong else 'none'}. "
            "Give numbers such as 0.1,1,10."
        )
    if question.delta:
        exact_delta(question.delta)
    if min(question.n_tables or 1, question.n_draws) < 1 or question.seed < 0 or question.n_tables == 0:
        raise InvalidParameterError(
            "A simulation must have at least one table, one draw and a seed that is not negative, but "
            f"tables={question.n_tables}, draws={question.n_draws}, seed={question.seed}."
        )
    if question.goal is not None and not 0.0 < question.goal[1] < 1.0:
        raise InvalidParameterError(
            f"A goal must lie in (0, 1), but it is {question.goal[1]:g}: no finite epsilon is certain. Give 0.9."
        )


def _scenarios(question: Question) -> "list[Scenario]":
    from discreet.planning.scenario import Scenario  # as below

    counts: Sequence[int | None] = question.n_rows or (None,)
    return [
        Scenario.of(question.metadata, question.target, question.candidates, n_rows=count, **question.supposed)
        for count in counts
    ]


def _rivals(question: Question, scenario: "Scenario") -> "list[Rival]":
    from discreet.planning.rivals import Rival, rivals  # as below

    usual = rivals(question.metadata, question.target, scenario.candidates, question.delta, scenario.n_rows)
    if not question.methods:
        if question.parameters:
            raise InvalidParameterError("Parameters must be those of a method. Give --method beside --set.")
        return usual
    known = (*SELECTIONS, *SCREENINGS)
    found: list[Rival] = []
    for method in dict.fromkeys(question.methods):
        if method not in known:
            raise InvalidParameterError(f"method must be one of {', '.join(known)}, but method={method[:40]!r}.")
        own = [rival for rival in usual if rival.method == method]
        if question.parameters or not own:
            told = ", ".join(f"{name} {value}" for name, value in question.parameters.items())
            # Epsilon is planned; delta is what the plan may spend, where the method takes one.
            parameters = {**({"delta": question.delta} if question.delta else {}), **question.parameters}
            own = [Rival(f"{method}, {told}" if told else method, method, parameters)]
        found += own
    return found


def _choices(
    question: Question, scenario: "Scenario", rivals: "Sequence[Rival]"
) -> tuple[tuple[Choice, ...], dict[str, str]]:
    """Selections with their costs; those that are refused at all epsilons, with the reason."""
    found, refused = list[Choice](), dict[str, str]()
    for rival in rivals:
        prepared, reason = _first(scenario, rival, question.epsilons)
        if prepared is None:
            if question.methods:
                raise InvalidParameterError(str(reason)) if not isinstance(reason, DiscreetError) else reason
            refused[rival.name] = str(reason)
            continue
        models = prepared.noise.n_candidates if rival.method in SELECTIONS and rival.method != "moments" else None
        found.append(Choice(rival.name, rival.method, rival.parameters, float(prepared.delta), models))
    return tuple(found), refused


def _first(
    scenario: "Scenario", rival: "Rival", epsilons: Sequence[float]
) -> "tuple[Preparation | None, DiscreetError | None]":
    reason: DiscreetError | None = None
    for epsilon in epsilons:
        try:
            return rival.at(epsilon).prepare(scenario.draw_metadata, scenario.target, scenario.candidates), None
        except DiscreetError as error:
            reason = reason or error
    return None, reason


def _curve(
    question: Question, scenario: "Scenario", rivals: "Sequence[Rival]", n_processes: int, progress: Told | None
) -> "list[Expected]":
    from discreet.planning.selection import expected  # compilers and scipy start slowly: no other command waits

    return expected(
        scenario,
        rivals,
        question.epsilons,
        n_tables=question.n_tables or TABLES,
        n_draws=question.n_draws,
        seed=question.seed,
        n_processes=n_processes,
        progress=progress,
    )


def _inverted(
    question: Question,
    goal: "tuple[Measure, float]",
    scenario: "Scenario",
    rivals: "Sequence[Rival]",
    n_processes: int,
    progress: Told | None,
) -> "list[Expected]":
    from discreet.planning.selection import epsilons_for  # as above

    return epsilons_for(
        scenario,
        rivals,
        goal[1],
        goal[0],
        n_tables=question.n_tables or GOAL_TABLES,
        seed=question.seed,
        n_processes=n_processes,
        progress=progress,
    )


def _theory(question: Question, scenario: "Scenario", rivals: "Sequence[Rival]") -> dict[str, Any] | None:
    """Whether pcls's penalty is as large as consistency asks: Lei et al., theorem 1, with the term of the noise.

    References
    ----------
    Lei et al. 2018, theorem 1: phi >= 4 alpha (1 v sigma^2) log n; privacy specification 1.7: also
    phi >= 4 alpha (r + R)^2 log(n) / epsilon. n^alpha is the number of models.
    """
    epsilon = question.epsilons[len(question.epsilons) // 2]
    for rival in rivals:
        if rival.method != "pcls":
            continue
        prepared, _ = _first(scenario, rival, [epsilon])
        asked = {} if prepared is None else prepared.parameters
        penalty, r, R = (asked.get(name) for name in ("model_penalty", "y_bound", "l1_radius"))
        if prepared is None or not all(isinstance(value, int | float) for value in (penalty, r, R)):
            continue
        models = math.log(max(prepared.noise.n_candidates or 2, 2))
        needed = 4.0 * models * max(scenario.noise_sd**2, (float(r or 0) + float(R or 0)) ** 2 / epsilon)
        return {
            "rival": rival.name,
            "epsilon": epsilon,
            "model_penalty": float(penalty or 0),
            "needed": needed,
            "holds": float(penalty or 0) >= needed,
        }
    return None


def _supposed(scenarios: "Sequence[Scenario]") -> dict[str, Any]:
    first = scenarios[0]
    return {
        "target": first.target,
        "candidates": list(first.candidates),
        "n_rows": [one.n_rows for one in scenarios],
        "effects": dict(first.effects),
        "noise_sd": first.noise_sd,
        "r_squared": first.r_squared,
        "correlation": first.correlation,
    }


# ---- the cache


def cache_folder() -> Path:
    """Return where expectations are kept: they hold nothing private.

    Returns
    -------
    Path
        In the user's cache folder.
    """
    return Path(platformdirs.user_cache_dir("discreet")) / "expectations"


def _key(question: Question, scenarios: "Sequence[Scenario]", rivals: "Sequence[Rival]") -> str:
    """Digest of all that decides the result."""
    return canonical_sha256(
        {
            "discreet": version("discreet"),
            "metadata": question.metadata.sha256,
            "supposed": _supposed(scenarios),
            "rivals": [asdict(rival) for rival in rivals],
            "named": bool(question.methods),
            "epsilons": question.epsilons,
            "goal": question.goal,
            "tables": question.n_tables or (GOAL_TABLES if question.goal else TABLES),
            "draws": question.n_draws,
            "seed": question.seed,
        }
    )


def _found(key: str) -> Expectation | None:
    """What is kept under a key; a file that cannot be read, or is none of ours, is no matter."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        value = json.loads((cache_folder() / f"{key}.json").read_text(encoding="utf-8"))
        if value.pop("schema") != KEPT or value.pop("key") != key:
            return None
        choices = tuple(Choice(**one) for one in value.pop("choices"))
        return Expectation(choices=choices, rows=tuple(value.pop("rows")), stored=True, **value)
    return None


def _keep(key: str, found: Expectation) -> None:
    """Write it whole or not at all; a cache that cannot be written is no matter."""
    value = {"schema": KEPT, "key": key, **asdict(found)}
    del value["stored"]
    with suppress(OSError, InvalidParameterError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        write_whole(cache_folder() / f"{key}.json", json.dumps(value, ensure_ascii=False, allow_nan=False))
