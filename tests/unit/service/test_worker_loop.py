"""A worker goes on through what passes, and hands a job what it needs."""

import json
from pathlib import Path
from types import SimpleNamespace

from discreet import workflow
from discreet.errors import BudgetError
from discreet_service.worker import job, loop, queue


def test_a_database_that_comes_back(monkeypatch, capsys):
    """A database that cannot be reached, before a request or at the end of its slot, does not end the worker."""
    steps = iter([BudgetError("gone"), "first", None])

    def take(_):
        step = next(steps)
        if isinstance(step, Exception):
            raise step
        return step

    monkeypatch.setattr(queue, "recover", lambda *_: None)
    monkeypatch.setattr(queue, "take", take)
    monkeypatch.setattr(loop, "answer", lambda *_: (_ for _ in ()).throw(BudgetError("gone again")))
    monkeypatch.setattr(loop, "POLL_S", 0.0)
    rounds = iter(range(10))
    loop.work(SimpleNamespace(), until=lambda: next(rounds) == 3)
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(one["event"], one["kind"]) for one in events] == [("waiting", "BudgetError")] * 2
    assert next(rounds) == 4


def test_tables_of_database_files(monkeypatch, tmp_path):
    """The table of the values and that of the targets are both named to whom opens them."""
    seen = []
    monkeypatch.setattr(workflow, "open_table", lambda *given: seen.append(given))
    context = SimpleNamespace(settings=SimpleNamespace(private={"tables": tmp_path}))
    places = [{"root": "tables", "path": "people.duckdb", "table": name} for name in ("values", "targets")]
    job._open_table(context, SimpleNamespace(metadata=None), {"data": places[0], "targets": places[1]})
    path = Path(tmp_path / "people.duckdb").resolve()
    assert seen == [(path, None, "values", path, "targets")]
