"""An analyst who knows all but one cell of everybody asks until the budget is gone, and guesses those cells."""

import math

import numpy as np
import pyarrow as pa
import pytest

from discreet import workflow
from discreet.data.metadata import Metadata
from discreet.errors import BudgetExceededError
from discreet.ledger import Ledger
from discreet.mechanisms.rng import Source

N_PEOPLE, N_COLUMNS, N_QUESTIONS = 12, 12, 2
N_TABLES = 17
"""Secrets guessed: 204. The share of right ones strays from its mean by more than `MARGIN` once in 10^4 runs."""
MARGIN = 0.14

NAMES = [f"x{j}" for j in range(N_COLUMNS)]


def declared(dataset: str) -> Metadata:
    """A target of two values, which is the secret, and columns that everybody knows."""
    columns = {name: {"type": "integer", "lower": -1, "upper": 1} for name in NAMES}
    columns["secret"] = {"type": "integer", "lower": 0, "upper": 1}
    public = {"unit": "person", "neighboring": "replace_one", "n_rows": N_PEOPLE}
    return Metadata.from_value({"dataset": dataset, "columns": columns, **public})


def bits(seed: int, count: int) -> np.ndarray:
    """Fair bits of a table that is made up."""
    return (Source.seeded(seed).words(count) >> np.uint64(63)).astype(int)


def releases(table, ledger, epsilon):
    """Buy the same noisy sums again and again, until the ledger refuses."""
    method = workflow.method_of("moments", epsilon=epsilon)
    while True:
        try:
            yield workflow.answer(method, table, "secret", ledger=ledger, fresh=True).release
        except BudgetExceededError:
            return


def rate_of(cap, n_tables, folder):
    """How many secrets are guessed from all that the cap lets through, by averages and least squares."""
    right = 0
    with Ledger(folder / "ledger.sqlite") as ledger:
        for number in range(n_tables):
            known = 2 * bits(2 * number, N_PEOPLE * N_COLUMNS).reshape(N_PEOPLE, N_COLUMNS) - 1
            secret = bits(2 * number + 1, N_PEOPLE)
            cells = pa.table({**dict(zip(NAMES, known.T, strict=True)), "secret": secret})
            ledger.grant(f"toy-{number}", cap)
            table = workflow.open_table(cells, declared(f"toy-{number}"))
            found = [one.moments.xty for one in releases(table, ledger, cap / N_QUESTIONS)]
            assert len(found) == N_QUESTIONS
            queries = np.column_stack([np.ones(N_PEOPLE), known]).T
            guess, *_ = np.linalg.lstsq(queries, np.mean(found, axis=0), rcond=None)
            right += int(((guess > 0) == secret).sum())
    return right / (n_tables * N_PEOPLE)


@pytest.mark.statistics
def test_no_more_is_reconstructed_than_the_cap_allows(tmp_path):
    """Pure privacy lets nobody guess a fair secret with a better chance than e^cap / (1 + e^cap)."""
    assert rate_of(1.0, N_TABLES, tmp_path) <= 1 / (1 + math.exp(-1.0)) + MARGIN


def test_without_a_cap_everything_is_reconstructed(tmp_path):
    """Control: the same attack, under a cap that protects nobody, finds nearly every secret."""
    assert rate_of(2000.0, 4, tmp_path) > 0.9
