"""Calls of all readers: data sets, budgets, requests, releases."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, get_args

from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError, WaitingError
from discreet.release import Release
from discreet_service.client.caller import Caller
from discreet_service.client.requests import Audience, Form, RemoteRequest, error_of_outcome

FASTEST_S, SLOWEST_S = 1.0, 10.0
"""Pauses between looks at a request."""


class ReaderCalls(Caller):
    """A reader's verbs."""

    def datasets(self) -> list[dict[str, Any]]:
        """Return the newest version of each data set that is open to you."""
        datasets: list[dict[str, Any]] = self._get("datasets")
        return datasets

    def metadata(self, dataset: str) -> Metadata:
        """Return what is public about a data set, for plans on this machine."""
        return Metadata.from_value(self._get("datasets", dataset)["metadata"])

    def budget(self, dataset: str) -> dict[str, Any]:
        """Return what a data set may spend in its lifetime, and has spent, with the allotments of your projects."""
        budget: dict[str, Any] = self._get("datasets", dataset, "budget")
        return budget

    def history(self, dataset: str, limit: int | None = 50) -> list[dict[str, Any]]:
        """Return the ledger's entries of a data set, the newest first."""
        return list(self._pages("datasets", dataset, "history", limit=limit))

    def request(self, id: str) -> RemoteRequest:
        """Return a request of yours or of your projects; any for curators and auditors."""
        return self._request(self._get("requests", id))

    def requests(
        self, *, dataset: str | None = None, state: str | None = None, limit: int | None = 50
    ) -> list[RemoteRequest]:
        """Return the requests that are open to you, the newest first."""
        return [self._request(item) for item in self._pages("requests", limit=limit, dataset=dataset, state=state)]

    def wait(
        self, id: str, timeout_s: float | None = None, *, progress: Callable[[RemoteRequest], None] | None = None
    ) -> Release:
        """Wait for a request's outcome; `progress` is called with the request at each look."""
        return self._outcome(self.request(id), timeout_s, progress)

    def release(self, id: str) -> Release:
        """Return the release of a request as the service's ledger recorded it."""
        return Release.from_json(self._report(id, "json", "board").decode())

    def report(self, id: str, format: Form = "html", audience: Audience = "board") -> str | bytes:
        """Return the report of a request that was released; bytes for a PDF."""
        if format not in get_args(Form):
            raise InvalidParameterError(f"format must be one of {', '.join(get_args(Form))}, but format={format!r}.")
        content = self._report(id, format, audience)
        return content if format == "pdf" else content.decode()

    def _outcome(
        self,
        request: RemoteRequest,
        within_s: float | None,
        progress: Callable[[RemoteRequest], None] | None = None,
    ) -> Release:
        deadline = None if within_s is None else time.monotonic() + within_s
        pause_s = FASTEST_S
        while True:
            if progress is not None:
                progress(request)
            if request.state == "released":
                return self.release(request.id)
            left_s = float("inf") if deadline is None else deadline - time.monotonic()
            if not request.is_open:
                raise error_of_outcome(request)
            if left_s <= 0:
                raise WaitingError(
                    f"A request must be released to be read, but id={request.id} is {request.state}. "
                    f"Nothing is lost: wait({request.id!r}) goes on."
                )
            time.sleep(min(left_s, _until(request.slot_end, pause_s)))
            pause_s = min(pause_s * 1.5, SLOWEST_S)
            request = self.request(request.id)

    def _report(self, id_: str, form: str, audience: str) -> bytes:
        path = self._path("requests", id_, "release")
        return self._connection.call("GET", path, query={"format": form, "audience": audience}).content


def _until(slot_end: str | None, usual_s: float) -> float:
    """Return the seconds until the next look: until the slot ends, where that is known."""
    if slot_end is None:
        return usual_s
    try:
        left_s = (datetime.fromisoformat(slot_end) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return usual_s
    return max(FASTEST_S, min(left_s + 0.1, 60.0))
