"""What all parts of the client share: calls, JSON, pages of a list."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from discreet.errors import InvalidParameterError, ServiceError
from discreet_service.client.connection import Answer, Connection
from discreet_service.client.requests import RemoteRequest

MOST_A_PAGE = 200

T = TypeVar("T", bound=BaseModel)


class Caller:
    """A service as a program speaks to it, over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _get(self, *path: str, **query: Any) -> Any:
        return self._read(self._connection.call("GET", self._path(*path), query=query))

    def _put(self, *path: str, body: Any) -> Any:
        return self._read(self._connection.call("PUT", self._path(*path), body=body))

    def _post(
        self, *path: str, body: Any = None, idempotency_key: str | None = None, repeatable: bool | None = None
    ) -> Any:
        answer = self._connection.call(
            "POST", self._path(*path), body=body, idempotency_key=idempotency_key, repeatable=repeatable
        )
        return self._read(answer)

    def _pages(self, *path: str, limit: int | None, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the items of a list, the newest first, page by page; limit None is for all."""
        cursor, n_left = None, limit
        while n_left is None or n_left > 0:
            size = MOST_A_PAGE if n_left is None else min(n_left, MOST_A_PAGE)
            page = self._get(*path, **query, cursor=cursor, limit=size)
            if not isinstance(page, Mapping) or not isinstance(page.get("items"), list):
                raise self._unexpected_answer()
            yield from page["items"]
            n_left = None if n_left is None else n_left - len(page["items"])
            cursor = page.get("next")
            if cursor is None:
                return

    def _request(self, value: Any) -> RemoteRequest:
        return self._typed(RemoteRequest, value)

    def _typed(self, kind: type[T], value: Any) -> T:
        try:
            return kind.model_validate(value)
        except ValidationError:
            raise self._unexpected_answer() from None

    def _read(self, answer: Answer) -> Any:
        try:
            return json.loads(answer.content)
        except ValueError:
            raise self._unexpected_answer() from None

    def _unexpected_answer(self) -> ServiceError:
        return ServiceError(
            f"A service of Discreet must answer as its API describes, but {self._connection.url} did not. "
            "Check the address, and that both have the same version."
        )

    @staticmethod
    def _path(*parts: str) -> str:
        invalid = [part for part in parts if str(part).strip() in ("", ".", "..")]
        if invalid:
            raise InvalidParameterError(f"A name or an id must be a word, but there is {invalid[0]!r}. Give one.")
        return "/".join(quote(str(part), safe="") for part in parts)
