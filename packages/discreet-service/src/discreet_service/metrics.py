"""Counts for a monitor: of calls, and of requests by state. None of them depends on a row before its slot has ended."""

from prometheus_client import CollectorRegistry, Counter, Gauge

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

REGISTRY = CollectorRegistry()
"""Metrics of calls and requests alone: none of the machine, the memory or the processor."""

_calls = Counter("discreet_calls", "Calls by route and status", ["method", "route", "status"], registry=REGISTRY)
_requests = Gauge("discreet_requests", "Requests by state", ["state"], registry=REGISTRY)


def count_call(method: str, route: str, status: int) -> None:
    """Count a call."""
    # A caller may make methods up: each would stay for good.
    _calls.labels(method if method in METHODS else "other", route, str(status)).inc()


def count_requests(states: dict[str, int]) -> None:
    """Set how many requests there are."""
    for state, count in states.items():
        _requests.labels(state).set(count)
