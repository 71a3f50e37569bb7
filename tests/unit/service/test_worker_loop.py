"""A worker goes on through what passes, and hands a job what it needs."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from discreet import workflow
from discreet.errors import BudgetError, InvalidParameterError
from discreet_service.worker import job, loop, queue


def test_a_database_that_comes_back(monkeypatch, capsys):
    """A database that cannot be reached, before a request or at the end of its slot, does not end the worker."""
    steps = iter([BudgetError("gone"), ["first"], []])

    def take(_, most):
        assert most == 1
        step = next(steps)
        if isinstance(step, Exception):
            raise step
        return step

    monkeypatch.setattr(queue, "recover", lambda _: None)
    monkeypatch.setattr(queue, "take_several", take)
    monkeypatch.setattr(loop, "answer", lambda *_: (_ for _ in ()).throw(BudgetError("gone again")))
    monkeypatch.setattr(loop, "POLL_S", 0.0)
    rounds = iter(range(10))
    settings = SimpleNamespace(requests_per_slot=1)
    loop.work(SimpleNamespace(settings=settings), until=lambda: next(rounds) == 3)
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


def test_several_requests_a_slot_need_memory_for_all():
    """A worker whose jobs together may take more than the machine has does not start."""
    settings = SimpleNamespace(requests_per_slot=2, memory_mb=2**30)
    with pytest.raises(InvalidParameterError, match="requests_per_slot"):
        loop.work(SimpleNamespace(settings=settings), once=True)


@pytest.mark.parametrize("n_jobs", [2, 16, 64])
@pytest.mark.parametrize("n_cores", [1, 2, 32])
def test_a_share_of_the_processor_ends_in_the_slot_whatever_the_others_do(monkeypatch, n_jobs, n_cores):
    """When all others take their whole share first, a job with one core still has its own before the slot's end."""
    monkeypatch.setattr(job.os, "sched_getaffinity", lambda _: range(n_cores))
    share = job.processor_s(600.0, n_jobs)
    others_s = (n_jobs - 1) * share / n_cores
    assert 0.3 * 600.0 < others_s + share < 600.0 or share == 1.0
