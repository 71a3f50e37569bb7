"""Typical mistakes, and the message that each gives: the page `docs/reference/messages.md` is made of them.

``python -m tests.acceptance.messages`` writes it anew.
"""

import contextlib
import io
import json
import os
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet

from discreet.cli.main import EXIT_CODES, run
from discreet.ledger import Ledger
from tests.acceptance.conftest import METADATA, people

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "messages.md"
SELECT = "discreet select --data people.parquet --metadata people.yaml --target visits --epsilon 1 --yes"
FIT = "discreet fit --data people.parquet --metadata people.yaml --target visits --columns age --epsilon 1 --yes"
CHECK = "discreet metadata check people.yaml"
PLAN = "discreet plan --metadata people.yaml --target visits"

HEAD = """\
# Messages

This page lists the most common mistakes, each with its message. A message says what is wrong, then what to do. It
never shows a cell, a count or a range of a private table. A request that is refused here spends nothing.

The exit code tells a script what kind of mistake it was: 2 for the request, 3 for the metadata, 4 for the budget, 5 for
data that do not match what was declared, 8 for a record that was changed, 9 for what the policy forbids.

The examples use a table `people.parquet` with the columns `age`, `income`, `site` and `visits`, its metadata
`people.yaml`, and a ledger that allows epsilon 10. A test runs each of them and compares the message with this page.
"""

FOOT = """
Next: [the commands](commands.md), the [metadata file](metadata.md), or the [frequently asked questions](../faq.md).
"""


class Mistake(NamedTuple):
    """What somebody did wrong, in words, the command, and how the folder differs from one where all is well."""

    words: str
    command: str
    change: Callable[[], object] = lambda: None


def metadata(change: Callable[[dict[str, Any]], object]) -> Callable[[], object]:
    """Write metadata that differ."""

    def write() -> None:
        value = json.loads(json.dumps(METADATA))
        change(value)
        Path("people.yaml").write_text(json.dumps(value, indent=1))

    return write


def column(name: str, **fields: Any) -> Callable[[], object]:
    """Write metadata with another declaration of one column."""
    return metadata(lambda value: value["columns"].update({name: fields}))


def text(name: str, content: str) -> Callable[[], object]:
    """Write a file."""
    return lambda: Path(name).write_text(content)


def table(change: Callable[[pa.Table], pa.Table]) -> Callable[[], object]:
    """Write another table."""
    return lambda: pyarrow.parquet.write_table(change(people()), "people.parquet")


def cap(epsilon: float) -> Callable[[], object]:
    """Lower what may be spent."""

    def write() -> None:
        Path("ledger.sqlite").unlink()
        with Ledger("ledger.sqlite") as ledger:
            ledger.grant("clinic", epsilon)

    return write


def changed_release() -> None:
    """Select, then edit the release."""
    silently(f"{SELECT} --out release.json")
    path = Path("release.json")
    path.write_text(path.read_text().replace('"age"', '"income"'))


def declared(value: dict[str, Any], **fields: Any) -> None:
    """Replace fields; None leaves one out."""
    value.update(fields)
    for name in [name for name, field in fields.items() if field is None]:
        del value[name]


MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "The command": (
        Mistake("A command is misspelled.", "discreet slect"),
        Mistake("An option is misspelled.", SELECT.replace("--target", "--taget")),
        Mistake("A required option is missing.", SELECT.replace("--target visits ", "")),
        Mistake("An option lacks its value.", "discreet select --target"),
        Mistake("A number is written in words.", SELECT.replace("--epsilon 1", "--epsilon one")),
        Mistake("The output would replace the data.", f"{SELECT} --out people.parquet"),
        Mistake("The skeleton would replace the data.", "discreet metadata new people.parquet --out people.parquet"),
        Mistake("The release to report on does not exist.", "discreet report relase.json"),
        Mistake("The file is not a release.", "discreet report people.yaml"),
    ),
    "The request": (
        Mistake("Epsilon is 0.", SELECT.replace("--epsilon 1", "--epsilon 0")),
        Mistake("Delta is 1.", f"{SELECT} --delta 1 --method moments"),
        Mistake("The method is misspelled.", f"{SELECT} --method momnets"),
        Mistake("The mechanism is unknown.", f"{SELECT} --mechanism gauss"),
        Mistake("A parameter does not belong to the method.", f"{SELECT} --set colour=1"),
        Mistake("The target is misspelled.", SELECT.replace("visits", "visit")),
        Mistake("The target is a category.", SELECT.replace("visits", "site")),
        Mistake("A candidate is not declared.", f"{SELECT} --candidates age,height"),
        Mistake("The target is also a candidate.", f"{SELECT} --candidates age,visits"),
        Mistake("A candidate is named twice.", f"{SELECT} --candidates age,age"),
        Mistake("A forced column is not a candidate.", f"{SELECT} --forced height"),
        Mistake("The model penalty is an unknown word.", f"{SELECT} --model-penalty ebic"),
        Mistake("The l1 radius is 0.", f"{SELECT} --l1-radius 0"),
        Mistake("The target's bound exceeds its range.", f"{SELECT} --y-bound 1000"),
        Mistake("The data are not named.", SELECT.replace("--data people.parquet ", "")),
        Mistake("A logistic regression has a target of counts.", f"{FIT} --family logistic"),
        Mistake("A fit names a column that is not declared.", FIT.replace("--columns age", "--columns height")),
        Mistake("The plan's goal is not understood.", f"{PLAN} --goal good"),
        Mistake("The plan's epsilon is negative.", f"{PLAN} --epsilon -1"),
    ),
    "The metadata": (
        Mistake("The metadata file does not exist.", "discreet metadata check peple.yaml"),
        Mistake("The table is given in place of the metadata.", "discreet metadata check people.parquet"),
        Mistake("The file is empty.", CHECK, text("people.yaml", "")),
        Mistake("The file is not YAML.", CHECK, text("people.yaml", "dataset: clinic\nunit: [person\n")),
        Mistake("A key appears twice.", CHECK, text("people.yaml", "dataset: clinic\nunit: person\nunit: row\n")),
        Mistake("The unit is missing.", CHECK, metadata(lambda value: declared(value, unit=None))),
        Mistake("The relation is misspelled.", CHECK, metadata(lambda value: declared(value, neighboring="replace"))),
        Mistake("The public number of rows is missing.", CHECK, metadata(lambda value: declared(value, n_rows=None))),
        Mistake(
            "The number of rows is given though it is private.",
            CHECK,
            metadata(lambda value: declared(value, neighboring="add_or_remove_one")),
        ),
        Mistake(
            "A person may have several rows, and no column identifies the person.",
            CHECK,
            metadata(lambda value: declared(value, rows_per_unit=3)),
        ),
        Mistake("A column has no bounds.", SELECT, column("age", type="integer")),
        Mistake("A category has no levels.", SELECT, column("site", type="category")),
        Mistake("The bounds are swapped.", CHECK, column("age", type="integer", lower=110, upper=0, source="code")),
        Mistake("A bound is a word.", CHECK, column("age", type="integer", lower="low", upper=110, source="code")),
        Mistake("The type is misspelled.", CHECK, column("age", type="interger", lower=0, upper=110, source="code")),
        Mistake("A key is misspelled.", CHECK, column("age", type="integer", lowr=0, upper=110, source="code")),
        Mistake("A category has one level.", CHECK, column("site", type="category", levels=["north"], source="code")),
        Mistake("The format is unknown.", "discreet metadata convert people.yaml --to docx"),
    ),
    "The data": (
        Mistake("The data file does not exist.", SELECT.replace("people.parquet", "peple.parquet")),
        Mistake("The data are a spreadsheet.", SELECT.replace(".parquet", ".xlsx"), text("people.xlsx", "x")),
        Mistake("The file is damaged.", SELECT, text("people.parquet", "PAR1")),
        Mistake("A declared column is not in the table.", SELECT, table(lambda rows: rows.drop(["income"]))),
        Mistake(
            "A column's name differs in its case.",
            SELECT,
            table(lambda rows: rows.rename_columns(["Age", *rows.column_names[1:]])),
        ),
        Mistake(
            "A number is stored as text.",
            SELECT,
            table(lambda rows: rows.set_column(0, "age", rows["age"].cast(pa.string()))),
        ),
        Mistake("The table has another number of rows.", SELECT, table(lambda rows: rows.slice(1))),
        Mistake("The link is to a web page.", SELECT.replace("people.parquet", "https://example.org/people.csv")),
    ),
    "The budget": (
        Mistake("The data set has no cap.", SELECT, lambda: Path("ledger.sqlite").unlink()),
        Mistake("The request costs more than is left.", SELECT, cap(0.5)),
        Mistake("The cap allows no delta.", f"{SELECT} --method moments --delta 1e-6"),
        Mistake("The cap has no number.", "discreet budget grant clinic"),
        Mistake("The cap is negative.", "discreet budget grant clinic --epsilon -1"),
        Mistake("The data set's name is misspelled.", "discreet budget show clinc"),
        Mistake("The ledger does not exist.", "discreet budget show --ledger leger.sqlite"),
        Mistake("A release was edited.", "discreet budget verify release.json", changed_release),
    ),
}


def silently(command: str) -> tuple[int, str]:
    """Run a command; return its code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(shlex.split(command)[1:])
    return code, out.getvalue() + err.getvalue()


def message(mistake: Mistake, folder: Path) -> tuple[int, str]:
    """Make the mistake in a new folder, where all else is well."""
    for path in folder.iterdir():
        path.unlink()
    pyarrow.parquet.write_table(people(), folder / "people.parquet")
    (folder / "people.yaml").write_text(json.dumps(METADATA, indent=1))
    with Ledger(folder / "ledger.sqlite") as ledger:
        ledger.grant("clinic", 10)
    with contextlib.chdir(folder), patch.dict(os.environ, DISCREET_LEDGER="ledger.sqlite", COLUMNS="80"):
        mistake.change()
        return silently(mistake.command)


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    with tempfile.TemporaryDirectory() as name:
        for title, mistakes in MISTAKES.items():
            parts.append(f"\n## {title}\n")
            for mistake in mistakes:
                code, words = message(mistake, Path(name))
                parts.append(f"\n**{mistake.words}** Exit code {code}.\n\n```text\n{mistake.command}\n{words}```\n")
    return "".join(parts) + FOOT


CODES = {code for _, code in EXIT_CODES}

if __name__ == "__main__":
    PAGE.write_text(page())
