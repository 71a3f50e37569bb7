"""A server, in a process that notes what it opens below the private folder; run with a folder and who computes.

The folder is away while the server works, so that a library that opens files behind Python's back would fail.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.acceptance.service_processes import write_file
from tests.office import METADATA, open_office, write_table

OPENED: list[str] = []


def watch(private: Path) -> None:
    """Note every file that Python opens, and every folder that it lists, below the folder; for good."""

    def note(event: str, given: tuple) -> None:
        if event in ("open", "os.listdir", "os.scandir", "glob.glob") and str(given[0]).startswith(str(private)):
            OPENED.append(f"{event} {given[0]}")

    sys.addaudithook(note)


def main(folder: Path, who: str) -> None:
    """Register, plan, ask, approve, have it answered here or elsewhere, read: print how, and what was opened."""
    private, away = folder / "private", folder / "away"
    with open_office(folder, slot_s=8, tick_s=1) as office:
        write_table(folder, "other.parquet")
        file = write_file(folder, office.context.settings)
        private.rename(away)
        watch(private)
        answers = list(before(office))
        asked = answers[-1].json()
        away.rename(private)
        if who == "elsewhere":
            command = [sys.executable, "-m", "discreet", "worker", "--config", file, "--once"]
            subprocess.run(command, check=True, capture_output=True)
        private.rename(away)
        if who == "nowhere":
            office.work()
        answers += after(office, asked["id"])
        found = office.read(asked)
    statuses = sorted({answer.status_code for answer in answers})
    print(json.dumps({"opened": OPENED, "statuses": statuses, "state": found["state"], "code": found["code"]}))


def before(office):
    """Everything up to the approval."""
    metadata = METADATA | {"dataset": "other"}
    source = {"data": {"root": "tables", "path": "other.parquet"}}
    yield office.call("cora", "POST", "/datasets", json={"metadata": metadata, "source": source})
    yield office.call("cora", "PUT", "/datasets/other/budget", json={"epsilon": 3})
    yield office.call("cora", "PUT", "/datasets/other/allotments/alpha", json={"epsilon": 2})
    asked = {"dataset": "other", "method": "pcls", "target": "y", "parameters": {"epsilon": 0.5}}
    yield office.call("ann", "POST", "/plans", json=asked)
    headers = {"Idempotency-Key": "key-00000001"}
    body = asked | {"project": "alpha", "purpose": "to learn"}
    made = office.call("ann", "POST", "/requests", json=body, headers=headers)
    yield made
    yield office.approve(made.json())


def after(office, id_):
    """Everything from the answer on."""
    paths = ["/datasets", "/datasets/other", "/datasets/other/budget", "/datasets/other/history", f"/requests/{id_}"]
    forms = ("json", "html", "pdf", "csv", "markdown", "text")
    paths += [f"/requests/{id_}/release?format={form}" for form in forms]
    return [office.call("cora", "GET", path) for path in paths] + [office.call("otto", "POST", "/verification")]


if __name__ == "__main__":
    os.chdir("/")
    main(Path(sys.argv[1]), sys.argv[2])
