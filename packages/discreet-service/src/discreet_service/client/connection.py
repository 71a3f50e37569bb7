"""Calls to a service: over TLS, with a key, and repeated where that cannot ask twice."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import httpx2

from discreet.errors import InvalidParameterError, ServiceError
from discreet_service.client.address import checked_key, checked_url, is_loopback
from discreet_service.client.problems import error_of

MOST_TRIES = 5
TIMEOUT_S = 120.0
LONGEST_PAUSE_S = 60.0
_TOO_MANY_REQUESTS = 429
_GATEWAY_ERRORS = frozenset({502, 503, 504})
"""Answers of a proxy whose server is away: whether the call arrived is not known."""


class Answer(NamedTuple):
    """What a service answered."""

    content: bytes
    media_type: str  # without its parameters


class Connection:
    """A connection to a service, with a key or with None for what is open to everybody.

    Redirections are not followed: a key is for one address. `transport` and `pause` are for tests.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        *,
        insecure: bool = False,
        timeout_s: float = TIMEOUT_S,
        transport: httpx2.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = checked_url(url, insecure=insecure)
        headers = {} if key is None else {"Authorization": f"Bearer {checked_key(key)}"}
        is_local = is_loopback(httpx2.URL(self.url).host)
        self._client = httpx2.Client(
            base_url=f"{self.url}/v1/",
            headers=headers | {"User-Agent": "discreet"},
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 10.0)),
            trust_env=not is_local,  # a proxy is for what is elsewhere
            transport=transport,
        )
        self._pause = pause

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        repeatable: bool | None = None,
    ) -> Answer:
        """Make a call, some times over if it does not get through."""
        may_repeat = repeatable if repeatable is not None else method != "POST" or idempotency_key is not None
        request = self._request(method, path, body, query, idempotency_key)
        for attempt in range(1, MOST_TRIES + 1):
            pause_s = min(0.5 * 2.0 ** (attempt - 1), LONGEST_PAUSE_S)
            try:
                response = self._client.send(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:  # nothing was sent
                if attempt == MOST_TRIES:
                    raise self._unreachable(error) from None
            except httpx2.RequestError as error:
                if attempt == MOST_TRIES or not may_repeat:
                    raise self._unreachable(error) from None
            else:
                status = response.status_code
                if attempt == MOST_TRIES or not (
                    status == _TOO_MANY_REQUESTS or (may_repeat and status in _GATEWAY_ERRORS)
                ):
                    return self._answer(response)
                pause_s = _retry_after_s(response, pause_s)
            self._pause(pause_s)
        raise AssertionError  # the last try returns or raises

    def _request(
        self, method: str, path: str, body: Any, query: Mapping[str, Any] | None, idempotency_key: str | None
    ) -> httpx2.Request:
        parameters = {name: value for name, value in (query or {}).items() if value is not None}
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        try:
            return self._client.build_request(method, path, json=body, params=parameters or None, headers=headers)
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(
                f"A request must hold what JSON can, but {error}. Give numbers, words and lists."
            ) from None

    def _answer(self, response: httpx2.Response) -> Answer:
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.is_success:
            return Answer(response.content, media_type)
        if media_type.endswith("json") and not response.is_redirect:
            raise error_of(_json(response), response.status_code)
        raise ServiceError(
            f"A service of Discreet must answer, but {self.url} gave {response.status_code} "
            f"{media_type or 'without a type'}. Check the address; or the service may be down."
        )

    def _unreachable(self, error: httpx2.RequestError) -> ServiceError:
        kind = {
            "ConnectError": "nothing answers there",
            "ConnectTimeout": "nothing answers there in time",
        }.get(type(error).__name__, "the connection broke or took too long")
        if "CERTIFICATE" in str(error).upper():
            kind = (
                "this machine does not trust its certificate (the variable SSL_CERT_FILE names further ones to trust)"
            )
        return ServiceError(
            f"The service at {self.url} cannot be reached: {kind}. Check the address and your network, or ask its "
            "administrator whether it runs; then try again."
        )


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _retry_after_s(response: httpx2.Response, usual_s: float) -> float:
    """Return the seconds that the service asks to wait (Retry-After), within reason."""
    retry_after = response.headers.get("retry-after", "")
    return min(float(retry_after), LONGEST_PAUSE_S) if retry_after.isascii() and retry_after.isdigit() else usual_s
