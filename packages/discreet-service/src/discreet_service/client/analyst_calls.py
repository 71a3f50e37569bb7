"""What analysts do: plan, and ask."""

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import token
from discreet.release import Release
from discreet_service.client.reader_calls import ReaderCalls
from discreet_service.client.requests import NO_PURPOSE, RemoteRequest


class AnalystCalls(ReaderCalls):
    """An analyst's verbs."""

    def plan(
        self,
        dataset: str,
        *,
        target: str,
        method: str = "pcls",
        candidates: Sequence[str] | None = None,
        **parameters: Any,
    ) -> dict[str, Any]:
        """Return what a request would cost and its noise; nothing is spent."""
        body = _question(dataset, target, method, candidates, parameters)
        plan: dict[str, Any] = self._post("plans", body=body, repeatable=True)
        return plan

    def expect(
        self, dataset: str, *, target: str, candidates: Sequence[str] | None = None, **supposed: Any
    ) -> dict[str, Any]:
        """Return how well selections can be expected to do, simulated by the service from public facts."""
        body = {"dataset": dataset, "target": target, "candidates": _name_list(candidates), **supposed}
        expectation: dict[str, Any] = self._post("expectations", body=body, repeatable=True)
        return expectation

    def ask(
        self,
        dataset: str,
        *,
        target: str,
        method: str = "pcls",
        candidates: Sequence[str] | None = None,
        project: str | None = None,
        purpose: str = "",
        chosen: Mapping[str, Any] | None = None,
        **parameters: Any,
    ) -> RemoteRequest:
        """Make a request and do not wait. It is charged when a curator approves it.

        A question that was answered before is released at once, for free.
        """
        if not purpose.strip():
            raise InvalidParameterError(f"{NO_PURPOSE} Give purpose=.")
        body = _question(dataset, target, method, candidates, parameters)
        body |= {"project": project or self._project(), "purpose": purpose, "chosen": chosen}
        return self._request(self._post("requests", body=body, idempotency_key=token()))

    def select(
        self,
        dataset: str,
        *,
        target: str,
        method: str = "pcls",
        candidates: Sequence[str] | None = None,
        project: str | None = None,
        purpose: str = "",
        wait: bool | float = True,
        **parameters: Any,
    ) -> Release:
        """Ask which variables belong in the regression of a target, and wait for the release."""
        request = self.ask(
            dataset,
            target=target,
            method=method,
            candidates=candidates,
            project=project,
            purpose=purpose,
            **parameters,
        )
        return self._outcome(request, None if wait is True else float(wait))

    def fit(
        self,
        dataset: str,
        *,
        target: str,
        columns: Sequence[str],
        family: str = "linear",
        **options: Any,
    ) -> Release:
        """Ask for the coefficients of a regression, and wait for the release."""
        return self.select(dataset, target=target, method=family, candidates=columns, **options)

    def run(self, dataset: str, *, target: str, **options: Any) -> Release:
        """Ask for several steps as one priced unit, and wait for the release."""
        return self.select(dataset, target=target, method="run", **options)

    def hybrid(self, dataset: str, *, target: str, method: str = "public-subset", **options: Any) -> Release:
        """Ask for an estimate on the data set's public records that the private rows weight, and wait for it."""
        return self.select(dataset, target=target, method=method, **options)

    def revise(self, id: str, **changes: Any) -> RemoteRequest:
        """Change the text of a request of yours that waits; whoever approves must read it again."""
        body = {**self._request(self._get("requests", id)).content, **changes}
        return self._request(self._put("requests", id, body=body))

    def withdraw(self, id: str) -> RemoteRequest:
        """Take back a request of yours that does not run yet; nothing stays charged."""
        return self._request(self._post("requests", id, "withdrawal"))

    def _project(self) -> str:
        """Return the only project of this analyst."""
        own = list(self._get("me").get("projects", []))
        if len(own) != 1:
            advice = f"these are yours: {', '.join(own)}" if own else "you belong to none. Ask a curator"
            raise InvalidParameterError(f"A request must name the project to charge, and {advice}.")
        return str(own[0])


def _question(
    dataset: str, target: str, method: str, candidates: Sequence[str] | None, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    fields = {name: value for name, value in parameters.items() if value is not None}
    names = {"dataset": dataset, "target": target, "method": method}
    return {**names, "candidates": _name_list(candidates), "parameters": fields}


def _name_list(names: Sequence[str] | None) -> list[str] | None:
    if isinstance(names, str):
        raise InvalidParameterError(f"Columns must be a list of names, but there is {names!r}. Give [{names!r}].")
    return None if names is None else list(names)
