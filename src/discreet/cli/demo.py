"""``discreet demo``: the main job on a real table, end to end."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from discreet import report as reports
from discreet import workflow
from discreet.cli.console import number, progress, result, say
from discreet.cli.release_text import summary
from discreet.files import write_whole
from discreet.report.words import count


def demo(
    dir_: Annotated[Path, typer.Option("--dir", help="Folder for the files. It is made where there is none.")] = Path(
        "discreet-demo"
    ),
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the result alone, without words and progress.")
    ] = False,
) -> None:
    """Select the variables behind doctor visits in the RAND Health Insurance Experiment.

    \b
    Example:
      discreet demo --dir discreet-demo
    """
    from discreet.workflow import demo as example  # pydantic starts slowly: help must not wait for it

    data, metadata_file, plan_file = example.write_demo(dir_)
    metadata = workflow.Metadata.read(metadata_file)
    plan = workflow.read_run(plan_file)
    method = plan.method()
    say(_heading(metadata), quiet)
    prepared = workflow.dry_run(method, metadata, plan.target).prepared
    models = count(prepared.noise.n_candidates or 0)
    say(
        f"1. Dry run, without data ({plan_file}): {models} models of {len(prepared.candidates)} candidates, then\n"
        f"   coefficients of the one selected; epsilon {number(plan.epsilon)}, delta {number(plan.delta)} for both.",
        quiet,
    )
    with workflow.Ledger(dir_ / "ledger.sqlite") as ledger, progress(quiet) as show_progress:
        if not ledger.accounts():
            ledger.grant(
                metadata.dataset,
                example.CAP,
                example.DELTA_CAP,
                unit=metadata.unit,
                neighboring=metadata.neighboring,
            )
        say(
            f"2. Budget: the ledger allows epsilon {number(example.CAP)} for the lifetime of {metadata.dataset}.",
            quiet,
        )
        table = workflow.open_table(data, metadata)
        answer = workflow.answer(method, table, plan.target, ledger=ledger, progress=show_progress)
    release = answer.release
    stored = " (answered before: the stored release, nothing charged)" if answer.stored else ""
    say(f"3. Select and fit{stored}:\n", quiet)
    result(summary(release))
    release.save(dir_ / "release.json")
    for name, form in (("report.html", "html"), ("report.md", "markdown")):
        write_whole(dir_ / name, reports.render(release, form))  # type: ignore[arg-type]
    write_whole(dir_ / "report.pdf", reports.render_pdf(release))
    say("\n4. Report, for an ethics board:", quiet)
    result(f"  {dir_ / 'report.html'}")
    say(_next(dir_, data, metadata_file), quiet)


def _heading(metadata: "workflow.Metadata") -> str:
    return (
        f"RAND Health Insurance Experiment: {metadata.n_rows:,} rows, in the public domain.\n"
        "A row is one person in one year. Most people have several rows, and the table has no identifier by which\n"
        "their rows could be limited, so what is protected here is a person-year: a person with c rows is protected\n"
        "with c times epsilon, c up to 5. With an identifier, `unit_id` and `rows_per_unit` would protect the person.\n"
    )


def _next(folder: Path, data: Path, metadata_file: Path) -> str:
    options = {"data": data, "metadata": metadata_file, "ledger": folder / "ledger.sqlite"}
    shown = " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in options.items())
    ledger = shlex.quote(str(folder / "ledger.sqlite"))
    return (
        "\nTry next, for a third of what is left, then for free:\n"
        f"  discreet select --method moments {shown} --target mdvis --epsilon 0.5 --delta 1e-6 --y-center 5 "
        f"--out {shlex.quote(str(folder / 'moments.json'))}\n"
        f"  discreet fit --from {shlex.quote(str(folder / 'moments.json'))}\n"
        f"  discreet budget show --ledger {ledger}"
    )
