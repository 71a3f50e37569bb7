"""What curators do: data sets, caps, decisions, projects."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.data.metadata import Metadata
from discreet.errors import BudgetError, InvalidParameterError
from discreet_service.client.caller import Caller
from discreet_service.client.requests import RemoteRequest


class CuratorCalls(Caller):
    """A curator's verbs."""

    def register(
        self,
        metadata: Metadata | Mapping[str, Any] | str | Path,
        data: str,
        *,
        table: str | None = None,
        targets: str | None = None,
        public: str | None = None,
        slot_s: int | None = None,
        version_of: str | None = None,
    ) -> dict[str, Any]:
        """Register a data set; no table is opened."""
        if isinstance(metadata, (str, Path)):
            metadata = Metadata.read(metadata)
        value = metadata.to_dict() if isinstance(metadata, Metadata) else dict(metadata)
        places = {"data": data, "targets": targets, "public": public}
        source: dict[str, Any] = {name: None if place is None else _place(place) for name, place in places.items()}
        source["data"] = _place(data) | {"table": table}
        path = ("datasets",) if version_of is None else ("datasets", version_of, "versions")
        dataset: dict[str, Any] = self._post(*path, body={"metadata": value, "source": source, "slot_s": slot_s})
        return dataset

    def grant(
        self, dataset: str, epsilon: float, delta: float | None = None, accounting: str | None = None
    ) -> dict[str, Any]:
        """Set a data set's cap, for its lifetime. Without a delta the present one stays; a new cap has 0."""
        delta_cap = _delta_of(self.account(dataset)) if delta is None else delta
        body = {"epsilon": epsilon, "delta": delta_cap, "accounting": accounting}
        budget: dict[str, Any] = self._put("datasets", dataset, "budget", body=body)
        return budget

    def allot(self, dataset: str, project: str, epsilon: float, delta: float | None = None) -> dict[str, Any]:
        """Give a project an allotment of a data set's cap, and with it the right to ask.

        Without a delta the present one stays; a new allotment has 0.
        """
        delta_cap = _delta_of(self.allotment(dataset, project)) if delta is None else delta
        body = {"epsilon": epsilon, "delta": delta_cap}
        budget: dict[str, Any] = self._put("datasets", dataset, "allotments", project, body=body)
        return budget

    def approve(self, id: str, comment: str = "", *, sha256: str | None = None) -> RemoteRequest:
        """Approve the exact text of a request: its cost is reserved, and it is queued.

        Where the same question was answered meanwhile, it is released for free.
        """
        return self._decide(id, "approval", comment, sha256)

    def reject(self, id: str, comment: str = "", *, sha256: str | None = None) -> RemoteRequest:
        """Reject a request; nothing is charged."""
        return self._decide(id, "rejection", comment, sha256)

    def failure(self, id: str) -> str:
        """Return where a computation failed: kinds of errors and places in the code; no cell."""
        return str(self._get("requests", id, "failure").get("detail", ""))

    def projects(self) -> dict[str, list[str]]:
        """Return projects by name with their members: analysts see their own."""
        return {project["name"]: list(project["members"]) for project in self._get("projects")}

    def members(self, project: str, names: Sequence[str]) -> list[str]:
        """Make a project, or change who belongs to it, and return its members."""
        if isinstance(names, str):
            raise InvalidParameterError(f"Members must be a list of names, but names={names!r}. Give [{names!r}].")
        return list(self._put("projects", project, body={"members": list(names)})["members"])

    def account(self, dataset: str) -> dict[str, Any] | None:
        """Return a data set's account, or nothing if it has none."""
        try:
            account: dict[str, Any] = self._get("datasets", dataset, "budget")
        except BudgetError:
            return None
        return account

    def allotment(self, dataset: str, project: str) -> dict[str, Any] | None:
        """Return a project's allotment of a data set's cap, or nothing if it has none."""
        allotments = (self.account(dataset) or {}).get("allotments", ())
        return next((each for each in allotments if each["project"] == project), None)

    def _decide(self, id_: str, kind: str, comment: str, sha256: str | None) -> RemoteRequest:
        digest = sha256 or self._request(self._get("requests", id_)).sha256
        return self._request(self._post("requests", id_, kind, body={"sha256": digest, "comment": comment}))


def _delta_of(before: Mapping[str, Any] | None) -> float:
    return 0.0 if before is None else float(before["delta_cap"])


def _place(text: str) -> dict[str, str | None]:
    root, slash, path = text.partition("/")
    if not (root and slash and path):
        raise InvalidParameterError(
            f"A place must have the form ROOT/PATH, such as tables/clinic.parquet, not {text!r}."
        )
    return {"root": root, "path": path}
