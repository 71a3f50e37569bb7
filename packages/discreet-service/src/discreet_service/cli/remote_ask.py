"""``discreet remote plan``, ``select``, ``fit``, ``hybrid`` and ``run``: as on one's own table, asked of a service."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import workflow
from discreet.cli import fit as fitting
from discreet.cli import hybrid as weighting
from discreet.cli import plan as planning
from discreet.cli import select as selecting
from discreet.cli.forms import form_of
from discreet.cli.options import Quiet
from discreet.cli.plan_parts import expect_parts
from discreet.cli.public_table import PublicTable, known_steps, with_public
from discreet.cli.request_options import Asked, sharing
from discreet.cli.spend import deliver
from discreet.cli.stops import stops
from discreet.errors import InvalidParameterError
from discreet_service.cli.remote_send import DatasetName, Json, Sending, send, sending, service

if TYPE_CHECKING:
    from discreet_service.client import Remote

PLAN_EXAMPLE = """\b
Example:
  discreet remote plan rand-hie --target mdvis --epsilon 0.1,1
  discreet remote plan rand-hie --target mdvis --until 0.9 --at-most 2
"""
SELECT_EXAMPLE = """\b
Example:
  discreet remote select rand-hie --target mdvis --epsilon 1 --l1-radius 4 \\
    --y-center 5 --purpose "what drives visits" --out release.json
  discreet remote select rand-hie --target mdvis --method auto --epsilon 1 \\
    --purpose "what drives visits" --no-wait
"""
FIT_EXAMPLE = """\b
Example:
  discreet remote fit rand-hie --target mdvis --columns lncoins,physlm \\
    --epsilon 1 --delta 1e-6 --purpose "effect of cost sharing" --out fit.json
  discreet remote fit --from moments.json --columns lncoins
"""
HYBRID_EXAMPLE = """\b
Example:
  discreet remote hybrid clinic --target sick --candidates age,site \\
    --epsilon 1 --purpose "who falls ill" --out release.json
"""
RUN_EXAMPLE = """\b
Example:
  discreet remote run rand-hie PLAN.yaml --purpose "what drives visits" \\
    --out release.json
"""


@sharing(planning.question, stops)
def plan(
    options: planning.PlanAsked,
    stop: dict[str, Any],
    dataset: DatasetName,
    out: Annotated[
        Path | None, typer.Option(help="File for the figures: .csv, or .html for a page with pictures.")
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tell how well selections can be expected to do: simulated here, from the service's metadata alone."""
    planning.check_out(out, options.fields["supposed"].get("like"), options.public_table)
    with service() as remote:
        public = remote.metadata(dataset)
    if stop:
        expect_parts(options.of(public), stop, out, json_, quiet)
        return
    planning.expect(options, public, ("discreet", "remote", "select", dataset), out, form_of(None, json_), quiet)


@sharing(selecting.question_in_parts, stops, sending)
def select(
    options: Asked, stop: dict[str, Any], sent: Sending, dataset: DatasetName, public_table: PublicTable = None
) -> None:
    """Ask which variables belong in the regression of TARGET."""
    if stop:
        selecting.check_in_parts(options, stop, public_table)
        options = replace(options, parameters={**options.parameters, **stop})
    elif "epsilon" not in options.parameters:
        raise InvalidParameterError(selecting.NEEDS_EPSILON)
    with service() as remote:
        facts = None
        if public_table is not None:
            options = with_public(options, remote.metadata(dataset), public_table)
        if options.method == "auto":
            chosen, facts = selecting.auto_of(options, remote.metadata(dataset), sent.how.quiet)
            parameters = chosen.model_dump(mode="json", by_alias=True, exclude_unset=True)
            options = replace(options, method=chosen.name, parameters=parameters)
        elif public_table is not None:
            known = options.parameters["public_moments"].model_dump(mode="json")
            options = replace(options, parameters={**options.parameters, "public_moments": known})
        send(remote, dataset, options, sent, facts)


@sharing(fitting.question, sending)
def fit(
    fitted: fitting.FitAsked,
    sent: Sending,
    context: typer.Context,
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="Name of the data set. Default: that of --from.")
    ] = None,
) -> None:
    """Ask for the coefficients of a regression of TARGET. From noisy moments they are free, and computed here."""
    derived = fitted.free(context, "dataset")
    if derived is not None:
        deliver(derived, sent.how)
        return
    options, earlier = fitted.asked(), fitted.earlier
    name = dataset or (earlier.provenance.dataset if earlier is not None else None)
    if name is None or options.parameters["epsilon"] is None:
        raise InvalidParameterError("A fit spends budget: give a data set and --epsilon. Only noisy moments are free.")
    with service() as remote:
        send(remote, name, options, sent)


@sharing(weighting.question, sending)
def hybrid(estimate: weighting.HybridAsked, sent: Sending, dataset: DatasetName) -> None:
    """Ask for an estimate on the data set's public records that the private rows weight."""
    options = estimate.asked()
    with service() as remote:
        send(remote, dataset, options, sent)


@sharing(sending)
def run(
    sent: Sending,
    dataset: DatasetName,
    plan: Annotated[
        Path,
        typer.Argument(help="Plan file (YAML or JSON). Of the files that it names, only the public table is read."),
    ],
    public_table: PublicTable = None,
) -> None:
    """Ask for the steps of a plan: one charge, one release."""
    steps = workflow.read_run(plan)
    with service() as remote:
        steps, _ = known_steps(steps, public_table, lambda: remote.metadata(dataset))
        _run(remote, dataset, steps, sent)


def _run(remote: "Remote", dataset: str, steps: "workflow.RunFile", sent: Sending) -> None:
    steps.method()
    parts = {"screen": steps.screen, "select": steps.select, "fit": steps.fit}
    inference = {} if steps.selective_inference is None else {"selective_inference": steps.selective_inference}
    parameters = {"epsilon": steps.epsilon, "delta": steps.delta, **inference, **parts}
    send(remote, dataset, Asked("run", steps.target, steps.candidates, parameters), sent)
