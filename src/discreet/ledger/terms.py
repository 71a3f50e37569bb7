"""What a request to the ledger must look like, checked before the ledger is read."""

import re
from collections.abc import Mapping
from typing import Any

from discreet.accounting.guarantee import Number, exact, exact_delta
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError
from discreet.ledger.chain import facts_text
from discreet.ledger.grains import DELTA_GRAIN, EPSILON_GRAIN, as_text, granted
from discreet.ledger.records import Account, Accounting, Allotment

DATASET_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""Names of data sets; the same as in the metadata, which stands above the ledger."""

MAX_CAP = 10**6
"""Largest lifetime cap, in nats."""


def check_dataset(dataset: str) -> str:
    """Return the name of a data set, or refuse it."""
    if not _is_name(dataset):
        raise InvalidParameterError(
            f"{str(dataset)[:40]!r} cannot be a data set's name. Use at most 100 letters, digits, dots, hyphens and "
            "underscores, beginning with a letter or digit."
        )
    return dataset


def check_project(project: str) -> str:
    """Return the name of a project, or refuse it."""
    if not _is_name(project):
        raise InvalidParameterError(
            f"{str(project)[:40]!r} cannot be a project's name. Use at most 100 letters, digits, dots, hyphens and "
            "underscores, beginning with a letter or digit."
        )
    return project


def check_unit(unit: str) -> str:
    """Return the unit of privacy, or refuse it."""
    if not isinstance(unit, str) or not 1 <= len(unit) <= 100 or not unit.isprintable():
        raise InvalidParameterError(
            f"unit must be one line of 1 to 100 characters, but unit={str(unit)[:40]!r}. Name who is "
            "protected, such as person."
        )
    return unit


def check_neighboring(neighboring: str) -> NeighboringRelation:
    """Return the neighboring relation of a name, or refuse it."""
    try:
        return NeighboringRelation(neighboring)
    except ValueError:
        names = " or ".join(NeighboringRelation)
        raise InvalidParameterError(
            f"neighboring must be {names}, but neighboring={str(neighboring)[:40]!r}. Use the one in the metadata."
        ) from None


def check_accounting(accounting: str) -> Accounting:
    """Return the accounting of a name, or refuse it."""
    try:
        return Accounting(accounting)
    except ValueError:
        raise InvalidParameterError(
            f"accounting must be {' or '.join(Accounting)}, but accounting={str(accounting)[:40]!r}. "
            "Under basic epsilon adds up, under zcdp rho."
        ) from None


def check_request(request: str) -> str:
    """Return the digest of a request, or refuse it."""
    if not isinstance(request, str) or not re.fullmatch("[0-9a-f]{64}", request):
        raise InvalidParameterError(
            f"request must be a SHA-256 of 64 hexadecimal digits, but request={str(request)[:70]!r}. "
            "Use canonical_sha256 of the request."
        )
    return request


def check_facts(facts: Mapping[str, Any]) -> str:
    """Return a request's public facts as canonical JSON, or refuse them."""
    try:
        return facts_text(facts)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidParameterError(
            f"facts must be a dictionary that JSON can hold, but {str(error)[:100]}. Pass numbers, text and lists."
        ) from None


def check_cap(epsilon: Number, delta: Number) -> tuple[int, int]:
    """Return epsilon and delta of a lifetime cap in grains, rounded down, or refuse it; 0 closes the data set."""
    value = exact(epsilon, "epsilon")
    if value and not EPSILON_GRAIN <= value <= MAX_CAP:
        raise InvalidParameterError(
            f"The lifetime cap must be 0 or lie between epsilon={as_text(EPSILON_GRAIN)} and epsilon={MAX_CAP}, "
            f"but epsilon={epsilon}. Common caps are 1 to 10; with 0 nothing can be spent."
        )
    return granted(value, EPSILON_GRAIN), granted(exact_delta(delta), DELTA_GRAIN)


def delta_cap(delta: Number | None, before: Account | Allotment | None) -> Number:
    """Return the delta of a new cap or allotment: without one the present delta stays, and a first one has 0."""
    if delta is not None:
        return delta
    return before.delta_cap if before else 0


def _is_name(name: str) -> bool:
    return isinstance(name, str) and len(name) <= 100 and re.fullmatch(DATASET_PATTERN[1:-1], name) is not None
