"""How a service is set up: one file, and one secret beside it."""

import re
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import parse_qsl, urlsplit

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretBytes,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from discreet.errors import InvalidParameterError
from discreet.files import read_text

SCHEMA = "discreet/service@1"
_LEAST_PEPPER = 20


class SignOn(BaseModel):
    """Single sign-on by OpenID Connect.

    Parameters
    ----------
    issuer : str
        URL of the provider, where ``/.well-known/openid-configuration`` stands.
    client_id : str
        What the provider calls this service.
    client_secret : SecretStr
        Its secret.
    claim : str
        Which claim of the provider names a person; an account has it as its subject.
    label : str
        What the button says.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str
    client_id: str
    client_secret: SecretStr
    claim: str = "sub"
    label: str = "Sign in with your organization"


def _root(value: object) -> object:
    """Return a private folder, or the URL of a database, without the password that a web process must not know."""
    if not isinstance(value, str) or "://" not in value:
        return Path(value) if isinstance(value, str) else value
    scheme, _, rest = value.partition("://")
    if scheme not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise ValueError("a private root must be a folder or a URL that begins with postgresql://")
    options = (name.lower() for name, _ in parse_qsl(rest.partition("?")[2], keep_blank_values=True))
    if ":" in rest.rpartition("@")[0] or any("password" in name for name in options):
        raise ValueError("a URL must hold no password: let the worker's environment name a PGPASSFILE")
    return value


class Settings(BaseModel):
    """What a server and its workers share.

    Parameters
    ----------
    database : str
        A file, or a URL of SQLite or PostgreSQL: the ledger and the service's own tables.
    pepper : SecretBytes
        Seals keys, sessions and approvals; at least 20 bytes, kept outside the database and its backups.
    private : dict of str to Path or str
        Folders under which private tables may lie, and databases in PostgreSQL by URL, by the names that data sets call
        them. Only a worker opens them. A URL holds no password: the worker's environment gives it, as PGPASSFILE does.
    public : dict of str to Path
        Folders of public tables.
    witness : Path or None
        The ledger's witness: a file outside the database's backups that tells a restored copy from the newest. That
        there is none must be said too.
    url : str
        Where people find the service; sign-on needs it.
    secure_cookies : bool
        Cookies over HTTPS alone. False is for trying out on one machine.
    proxies : tuple of str
        Addresses of proxies that are believed when they say where a call comes from.
    tick_s : float
        What depends on rows leaves at whole multiples of this many seconds.
    slot_s : int
        Length of a request's slot, where a data set does not say.
    memory_mb : int
        The most that one computation may take.
    simulation_mb : int
        The most memory that one simulation of accuracy may take, 1,500 for the program among it.
    simulation_s : int
        The most seconds of a processor that one simulation may take; of the clock, twice as many.
    session_h : float
        Hours until one must sign in again.
    rate_per_minute : int
        Calls that one account, or one address, may make.
    sign_on : SignOn or None
        Single sign-on.
    demo : bool
        A demonstration: each start gives its accounts new passwords.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    database: str
    pepper: SecretBytes
    private: dict[
        Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,40}$")], Annotated[Path | str, BeforeValidator(_root)]
    ] = {}
    public: dict[Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,40}$")], Path] = {}
    witness: Path | None
    url: str = "http://127.0.0.1:8000"
    secure_cookies: bool = True
    proxies: tuple[str, ...] = ()
    tick_s: float = Field(default=1.0, gt=0, le=3600)
    slot_s: int = Field(default=60, ge=1, le=86_400)
    memory_mb: int = Field(default=8192, ge=256)
    simulation_mb: int = Field(default=3072, ge=2048)
    simulation_s: int = Field(default=60, ge=1, le=3600)
    session_h: float = Field(default=12.0, gt=0, le=24 * 30)
    rate_per_minute: int = Field(default=600, ge=1)
    sign_on: SignOn | None = None
    demo: bool = False

    @field_validator("pepper")
    @classmethod
    def _check_pepper(cls, pepper: SecretBytes) -> SecretBytes:
        if len(pepper.get_secret_value()) < _LEAST_PEPPER:
            raise ValueError(f"must have at least {_LEAST_PEPPER} bytes")
        return pepper

    @model_validator(mode="after")
    def _check_roots(self) -> Self:
        private = [root.resolve() for root in self.private.values() if isinstance(root, Path)]
        for path in (path.resolve() for path in self.public.values()):
            if any(path == folder or path.is_relative_to(folder) or folder.is_relative_to(path) for folder in private):
                raise ValueError("a public folder must lie apart from every private one")
        return self

    @model_validator(mode="after")
    def _check_cookies(self) -> Self:
        is_local = (urlsplit(self.url).hostname or "") in ("127.0.0.1", "localhost", "::1")
        if not self.secure_cookies and not is_local:
            raise ValueError("secure_cookies may be false for a url on this machine alone")
        return self

    @property
    def secret(self) -> bytes:
        """The pepper."""
        return self.pepper.get_secret_value()


def read_settings(path: Path) -> Settings:
    """Read and check the file that sets a service up."""
    try:
        values = yaml.safe_load(read_text(path, "service"))
    except yaml.YAMLError:
        raise InvalidParameterError(f"The service file must be YAML, but {path} is not.") from None
    if not isinstance(values, dict) or values.pop("schema", None) != SCHEMA:
        raise InvalidParameterError(
            f"{path} is not a service file: it does not begin with `schema: {SCHEMA}`. Give the file that "
            "`discreet serve --init` wrote."
        )
    folder = path.absolute().parent
    pepper = values.pop("pepper_file", None)
    if not isinstance(pepper, str):
        raise InvalidParameterError(f"The service file must name a pepper_file, but {path} does not.")
    values["pepper"] = read_text(folder / pepper, "pepper").strip().encode()
    if (folder / pepper).stat().st_mode & 0o007:
        raise InvalidParameterError(
            f"The pepper must be a secret, but everybody on this machine can read {pepper}. Do: chmod o-rwx {pepper}"
        )
    sign_on = values.get("sign_on")
    if isinstance(sign_on, dict) and isinstance(sign_on.get("client_secret_file"), str):
        secret = read_text(folder / sign_on.pop("client_secret_file"), "client's secret")
        values["sign_on"] = sign_on | {"client_secret": secret.strip()}
    for name in ("private", "public"):
        if isinstance(values.get(name), dict):
            values[name] = {key: _relative_to(folder, str(value)) for key, value in values[name].items()}
    for name in ("witness", "database"):
        if isinstance(values.get(name), str):
            values[name] = _relative_to(folder, values[name])
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InvalidParameterError(f"The service file {path} must be right, but {place}: {first['msg']}.") from None


def _relative_to(folder: Path, place: str) -> str:
    return place if re.match(r"[A-Za-z][A-Za-z0-9+]*://", place) else str(folder / place)
