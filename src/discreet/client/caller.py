"""What every part of the client does alike: call, read JSON, turn pages."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from discreet.client.connection import Answer, Connection
from discreet.client.requests import RemoteRequest
from discreet.errors import InvalidParameterError, ServiceError

MOST_A_PAGE = 200

T = TypeVar("T", bound=BaseModel)


class Caller:
    """A service as a program speaks to it.

    Parameters
    ----------
    connection : Connection
        The way there.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _get(self, *path: str, **query: Any) -> Any:
        return self._read(self._connection.call("GET", self._path(*path), query=query))

    def _put(self, *path: str, body: Any) -> Any:
        return self._read(self._connection.call("PUT", self._path(*path), body=body))

    def _post(self, *path: str, body: Any = None, once: str | None = None, repeatable: bool | None = None) -> Any:
        called = self._connection.call("POST", self._path(*path), body=body, once=once, repeatable=repeatable)
        return self._read(called)

    def _pages(self, *path: str, limit: int | None, **query: Any) -> Iterator[dict[str, Any]]:
        """Items of a list, the newest first, page by page; None for all."""
        cursor, left = None, limit
        while left is None or left > 0:
            size = MOST_A_PAGE if left is None else min(left, MOST_A_PAGE)
            page = self._get(*path, **query, cursor=cursor, limit=size)
            if not isinstance(page, Mapping) or not isinstance(page.get("items"), list):
                raise self._strange()
            yield from page["items"]
            left = None if left is None else left - len(page["items"])
            cursor = page.get("next")
            if cursor is None:
                return

    def _request(self, value: Any) -> RemoteRequest:
        return self._typed(RemoteRequest, value)

    def _typed(self, kind: type[T], value: Any) -> T:
        try:
            return kind.model_validate(value)
        except ValidationError:
            raise self._strange() from None

    def _read(self, answer: Answer) -> Any:
        try:
            return json.loads(answer.content)
        except ValueError:
            raise self._strange() from None

    def _strange(self) -> ServiceError:
        return ServiceError(
            f"A service of Discreet must answer as its API describes, but {self._connection.url} did not. "
            "Check the address, and that both have the same version."
        )

    @staticmethod
    def _path(*parts: str) -> str:
        wrong = [part for part in parts if str(part).strip() in ("", ".", "..")]
        if wrong:
            raise InvalidParameterError(f"A name or an id must be a word, but there is {wrong[0]!r}. Give one.")
        return "/".join(quote(str(part), safe="") for part in parts)
