"""A service, as a program speaks to it."""

from types import TracebackType
from typing import Self

from discreet.errors import InvalidParameterError
from discreet_service.client.admin_calls import AdminCalls
from discreet_service.client.analyst_calls import AnalystCalls
from discreet_service.client.connection import TIMEOUT_S, Connection
from discreet_service.client.curator_calls import CuratorCalls
from discreet_service.client.login_store import Login, load


class Remote(AnalystCalls, CuratorCalls, AdminCalls):
    """A service that holds private tables and answers with releases.

    Parameters
    ----------
    url : str, optional
        Of the service, such as "https://statistics.example.org". Default: what ``discreet remote login`` keeps, or the
        environment variables DISCREET_URL and DISCREET_KEY say.
    key : str, optional
        Yours, from the page Keys. It is neither shown nor logged.
    insecure : bool
        Accept HTTP to another machine: whoever is on the way then reads key and releases.
    timeout_s : float
        How long to wait for the answer to one call, in seconds.

    Raises
    ------
    InvalidParameterError
        When the address is none, or not a safe one.
    NotSignedInError
        Without an address, when none is kept.

    Notes
    -----
    Certificates are always checked; SSL_CERT_FILE names those of an office. A call that does not get through is made
    again, with pauses, where that cannot ask twice: a request carries a key of its own for that.

    Examples
    --------
    >>> service = Remote("https://statistics.example.org", "dk_someone_something")
    >>> service
    Remote('https://statistics.example.org')
    >>> service.close()
    """

    def __init__(
        self, url: str | None = None, key: str | None = None, *, insecure: bool = False, timeout_s: float = TIMEOUT_S
    ) -> None:
        if url is None and key is not None:
            raise InvalidParameterError("A key is for one service, so url must be given with it. Give both, or none.")
        login = load() if url is None or key is None else Login(url, key, insecure)
        if url is not None and login.url != url.strip().rstrip("/"):  # never another service's key
            raise InvalidParameterError("A key must be given with the address of its service. Give url and key.")
        super().__init__(Connection(login.url, login.key, insecure=login.insecure or insecure, timeout_s=timeout_s))

    def __repr__(self) -> str:
        return f"Remote({self._connection.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()
