"""How well selections can be expected to do on a table like the one described: simulated, no data are opened."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from discreet.accounting.guarantee import exact_delta
from discreet.digits import plain
from discreet.errors import DiscreetError, InvalidParameterError
from discreet.methods.base.method import Progress as Told
from discreet.methods.registry import CHOOSING, SCREENINGS, SELECTIONS
from discreet.parameters.public_moments import PublicMoments
from discreet.release import canonical_sha256
from discreet.workflow.chance import chance_before
from discreet.workflow.code import code_sha256
from discreet.workflow.dry_runs import dry_run
from discreet.workflow.expectation import Choice as Choice
from discreet.workflow.expectation import Expectation as Expectation
from discreet.workflow.expectation import Question as Question
from discreet.workflow.expectation_cache import keep, stored
from discreet.workflow.recommendation import FIXED

if TYPE_CHECKING:  # they need scipy, which a command that plans nothing must not wait for
    from discreet.methods.base.method import Preparation
    from discreet.simulation.rivals import Rival
    from discreet.simulation.scenario import Scenario

MOST_IN_A_MODEL = 60
"""Features among which the best subset is looked for; of more, columns are screened. Of other columns that are more,
moments are released once."""

KNOWN = "public_moments"
"""The parameter of selections that use what is known of the columns."""

LEAST_EPSILON, MOST_EPSILON = 1e-6, 1000.0


def expect(question: Question, n_processes: int = 1, progress: Told | None = None) -> Expectation:
    """Simulate how well selections do, or find it in the user's cache.

    From public facts alone.

    Cost: see `refined`; nothing where the same was asked before.
    """
    *_, last = refined(question, n_processes, progress)
    return last


def refined(question: Question, n_processes: int = 1, progress: Told | None = None) -> Iterator[Expectation]:
    """Yield what is expected, soon from few tables, then finer and finer; the last is what `expect` returns.

    Cost: a selection for each table, draw, method and epsilon.
    """
    from discreet.workflow.expectation_stages import Stages  # compilers and scipy start slowly

    _check(question)
    groups = _scenarios(question)  # of each number of rows
    first = groups[0][0]
    own, usual = _rivals(question, first)
    rivals = (*own, *usual)
    supposed = _supposed(groups)
    key = _key(question, supposed, rivals)
    cached = _known(key)
    if cached is not None:
        yield cached
        return
    choices, refused = _choices(question, first, rivals, own)
    usable = [[rival for rival in chain(*_rivals(question, group[0])) if rival.name not in refused] for group in groups]
    stages = Stages(question, groups, usable, choices, n_processes, progress)
    theory, unfit = _theory(question, first, rivals), _unfit(question, first)
    empty = Expectation(
        supposed, choices, (), refused, theory, fits_refused=unfit, asked=tuple(rival.name for rival in own)
    )
    latest, rivals_asked = empty, {rival.name: rival for rival in rivals}
    for place, answer in enumerate(stages.answers(empty)):
        if place == 1 or (place == 0 and answer.is_final):  # not before the first figures, as it takes as long as they
            choices = tuple(
                replace(each, chance=_chance(first, rivals_asked[each.name], question.middle)) for each in choices
            )
        latest = replace(answer, choices=choices)
        yield latest
    value = asdict(latest)
    del value["stored"]
    keep(key, value)


def _check(question: Question) -> None:
    wrong = [epsilon for epsilon in question.epsilons if not LEAST_EPSILON <= epsilon <= MOST_EPSILON]
    if wrong or not question.epsilons:
        raise InvalidParameterError(
            f"Each epsilon must lie in [{plain(LEAST_EPSILON)}, {plain(MOST_EPSILON)}], but "
            f"{f'{plain(wrong[0])} does not' if wrong else 'none is given'}. Give numbers such as 0.1,1,10."
        )
    for name, value in question.parameters.items():
        if not _is_finite(value):  # has no place in a request, nor in the key of the cache
            raise InvalidParameterError(f"Parameters must be finite, but {name[:40]}={value!r:.40}. Give a number.")
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


def _is_finite(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _scenarios(question: Question) -> "list[list[Scenario]]":
    from discreet.simulation.supposition import Supposition  # as below

    supposition = Supposition.of(question.supposed)
    counts: Sequence[int | None] = question.n_rows or (None,)
    question_key = (question.metadata, question.target, question.candidates)
    return [supposition.scenarios(*question_key, n_rows=count) for count in counts]


def _rivals(question: Question, scenario: "Scenario") -> "tuple[list[Rival], list[Rival]]":
    """The request at hand, then what it is compared with."""
    from discreet.simulation.rivals import Rival, rivals  # as below

    facts = (question.metadata, question.target, scenario.candidates, question.delta, scenario.n_rows)
    usual = rivals(*facts, question.public_moments)
    if question.metadata.features is not None and len(scenario.candidates) > MOST_IN_A_MODEL:
        # A threshold for thousands of columns takes half a minute to find, at each epsilon: it must be asked for.
        screened = [rival for rival in usual if rival.method in SCREENINGS]
        usual = [rival for rival in screened if rival.parameters.get(FIXED) != "auto"]
    elif question.metadata.features is not None and question.candidates is None:
        usual = [rival for rival in usual if rival.method in SCREENINGS]  # a model must have its candidates named
    is_long = len(scenario.candidates) > MOST_IN_A_MODEL
    if not question.methods:
        if question.parameters:
            raise InvalidParameterError("Parameters must be those of a method. Give --method beside --set.")
        return [], [rival for rival in usual if not is_long or _is_quick(rival, question.delta)]
    answers: list[Rival] = []
    for method in dict.fromkeys(question.methods):
        if method not in CHOOSING:
            raise InvalidParameterError(f"method must be one of {', '.join(CHOOSING)}, but method={method[:40]!r}.")
        own = [rival for rival in usual if rival.method == method]
        if question.parameters or not own:
            description = ", ".join(
                "public columns" if name == KNOWN else f"{name} {value}" for name, value in question.parameters.items()
            )
            # Epsilon is planned; delta is what the plan may spend, where the method takes one.
            parameters = {**({"delta": question.delta} if question.delta else {}), **question.parameters}
            if any(KNOWN in rival.parameters for rival in own):
                parameters |= {KNOWN: question.public_moments}
                description = f"public columns, {description}"
            own = [Rival(f"{method}, {description}" if description else method, method, parameters)]
        answers += own
    names = {rival.name for rival in answers}
    usual = [rival for rival in usual if not is_long or _is_quick(rival, question.delta)]
    return answers, [] if question.is_alone else [rival for rival in usual if rival.name not in names]


def _is_quick(rival: "Rival", delta: float) -> bool:
    """Whether a plan of many columns has the time: of noisy moments one release, with the delta that may be spent."""
    is_usual = "model_penalty" not in rival.parameters and rival.parameters.get("delta", 0.0) == delta
    return rival.method != "moments" or is_usual


def _choices(
    question: Question, scenario: "Scenario", rivals: "Sequence[Rival]", own: "Sequence[Rival]"
) -> tuple[tuple[Choice, ...], dict[str, str]]:
    """Selections with their costs, as yet without `chance`; those refused at all epsilons, with the reason."""
    answers, refused = list[Choice](), dict[str, str]()
    for rival in rivals:
        prepared, reason = _first(scenario, rival, question.epsilons)
        if prepared is None:
            if rival in own:
                raise InvalidParameterError(str(reason)) if not isinstance(reason, DiscreetError) else reason
            refused[rival.name] = str(reason)
            continue
        models = prepared.noise.n_candidates if rival.method in SELECTIONS and rival.method != "moments" else None
        known = question.public_moments
        is_with_public = known is not None and rival.parameters.get(KNOWN) is known
        parameters = {name: value for name, value in rival.parameters.items() if not (is_with_public and name == KNOWN)}
        facts = rival.name, rival.method, parameters, float(prepared.delta), models
        answers.append(Choice(*facts, is_with_public=is_with_public))
    return tuple(answers), refused


def _chance(scenario: "Scenario", rival: "Rival", epsilon: float) -> dict[str, Any] | None:
    """What chance gives in the place of a selection, at one epsilon."""
    with suppress(DiscreetError):
        metadata = scenario.draw_metadata
        asked = dry_run(rival.at(epsilon), metadata, scenario.target, scenario.candidates)
        chance = chance_before(asked)
        return None if chance is None else chance.model_dump(mode="json")
    return None


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


def _unfit(question: Question, scenario: "Scenario") -> dict[str, str]:
    """Epsilons at which a fit is refused, and why."""
    from discreet.simulation.fits import fit_cost  # as above

    if question.goal is not None:
        return {}
    reasons = {f"{epsilon:g}": fit_cost(scenario, epsilon, question.delta).reason for epsilon in question.epsilons}
    return {epsilon: reason for epsilon, reason in reasons.items() if reason}


def _theory(question: Question, scenario: "Scenario", rivals: "Sequence[Rival]") -> list[dict[str, Any]]:
    from discreet.simulation.theory import conditions  # as above

    return conditions(scenario, rivals, question.middle)


def _supposed(groups: "Sequence[Sequence[Scenario]]") -> dict[str, Any]:
    from discreet.simulation.supposition import pattern_record  # as above
    from discreet.workflow.expectation_stages import scenario_names, scenario_numbers

    first, like = groups[0][0], pattern_record(groups[0][0])
    listed = [
        {"scenario": name, **scenario_numbers(choice), "effects": dict(choice.effects)}
        for name, choice in zip(scenario_names(groups[0]), groups[0], strict=True)
    ]
    own = {key: listed[0][key] for key in ("effects", "noise_sd", "r_squared", "correlation")}
    levels = {name: list(changes) for name, changes in first.level_effects.items()}
    return {
        "target": first.target,
        "candidates": list(first.candidates),
        "n_rows": [scenarios[0].n_rows for scenarios in groups],
        **(own if len(listed) == 1 else {}),
        "scenarios": listed,
        **({"like": like} if like is not None else {}),
        **({"level_effects": levels} if levels else {}),
    }


def _key(question: Question, supposed: dict[str, Any], rivals: "Sequence[Rival]") -> str:
    """Digest of all that decides the result."""
    return canonical_sha256(
        {
            "discreet": code_sha256(),
            "metadata": question.metadata.sha256,
            "supposed": supposed,
            "rivals": [_plain(rival) for rival in rivals],
            "named": [list(question.methods), dict(question.parameters), question.is_alone],
            "at": question.at,
            "epsilons": question.epsilons,
            "goal": question.goal,
            "delta": question.delta,
            "tables": question.n_tables,
            "draws": question.n_draws,
            "seed": question.seed,
        }
    )


def _plain(rival: "Rival") -> dict[str, Any]:
    """A selection as JSON can hold it."""
    fields, known = asdict(rival), rival.parameters.get(KNOWN)
    if isinstance(known, PublicMoments):
        fields["parameters"][KNOWN] = known.model_dump(mode="json")
    return fields


def _known(key: str) -> Expectation | None:
    """What is kept under a key; a file of another form is no matter."""
    value = stored(key)
    with suppress(TypeError, KeyError):
        if value is not None:
            return Expectation.from_value({**value, "stored": True})
    return None
