"""Single sign-on by OpenID Connect: the authorization code flow, with PKCE, state and nonce.

Accounts are matched by what the provider calls a person, and never made here.
"""

import base64
import hashlib
import ipaddress
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from discreet import workflow
from discreet.errors import ForbiddenError
from discreet.service.access import entry
from discreet.service.access.digests import same, sealed
from discreet.service.context import Context
from discreet.service.logs import log
from discreet.service.settings import SignOn
from discreet.service.store import audit, users

RETURN_PATH = "/sign-on/return"
PATIENCE_S = 600
"""How long somebody may take at the provider."""

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures by a key that the provider alone has: none, and what a client's secret signs, are not among them."""

_SCOPES = {"email": "openid email", "preferred_username": "openid profile"}
_MOST_BYTES = 1 << 20
_LEEWAY_S = 60
_KNOWN_S = 300.0
_known: dict[str, tuple[float, dict[str, Any]]] = {}
"""Where providers have their doors, for a few minutes."""


@dataclass(frozen=True)
class Attempt:
    """Somebody who was sent to the provider and is to come back; a cookie of their browser holds it, sealed.

    Parameters
    ----------
    state, nonce, verifier : str
        What nobody can guess: that the answer is to this browser, the token for this answer, the code for this server.
    next : str
        Where the browser wanted to go.
    until : int
        When it is over, in seconds since 1970.
    """

    state: str
    nonce: str
    verifier: str
    next: str
    until: int


def begin(context: Context, next_: str) -> tuple[str, str]:
    """Return where the provider signs people in, and the cookie to come back with.

    An address of the provider, and the cookie's text.
    """
    asked = _settings(context)
    attempt = Attempt(workflow.token(), workflow.token(), workflow.token(40), next_, int(time.time()) + PATIENCE_S)
    query = {
        "response_type": "code",
        "client_id": asked.client_id,
        "redirect_uri": _return_address(context),
        "scope": _SCOPES.get(asked.claim, "openid"),
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": _base64(hashlib.sha256(attempt.verifier.encode()).digest()),
        "code_challenge_method": "S256",
    }
    door = _address(_doors(asked), "authorization_endpoint")
    return f"{door}{'&' if '?' in door else '?'}{urlencode(query)}", _closed(context, attempt)


def finish(context: Context, cookie: str, answer: Mapping[str, str]) -> tuple[str, str]:
    """Check what the provider says, and open a session for the account that is meant.

    The session's token, and where the browser wanted to go.
    """
    asked = _settings(context)
    attempt = _opened(context, cookie)
    if attempt is None or not same(answer.get("state", ""), attempt.state):
        raise _refused("state", "This sign-in was not begun in this browser, or too long ago. Begin again.")
    if answer.get("iss", asked.issuer) != asked.issuer:
        raise _refused("issuer")
    if "error" in answer or not answer.get("code"):
        raise _refused("declined", "Your organization did not sign you in. Begin again, or ask there.")
    doors = _doors(asked)
    token = _exchanged(context, asked, doors, answer["code"], attempt)
    subject = _subject(asked, _claims(asked, doors, token, attempt.nonce))
    with context.database.read() as connection:
        user = users.of_subject(connection, subject)
    if user is None:
        with context.database.write() as connection:
            audit.note(connection, "-", "sign-in failed", sealed(context.settings.secret, "subject", subject)[:16])
        raise _refused("account", f"No account here is yours. Ask an admin for one, with the subject {subject}.")
    return entry.open_session(context, user.name), attempt.next


def _settings(context: Context) -> SignOn:
    if context.settings.sign_on is None:
        raise ForbiddenError("Single sign-on must be set up to be used, but it is not. Sign in with a password.")
    return context.settings.sign_on


def _refused(kind: str, text: str = "Your organization's answer does not fit. Begin again, or ask an admin.") -> Any:
    """The log says which check failed, for who runs the service; whoever signs in need not know."""
    log("sign-on refused", kind=kind)
    return ForbiddenError(text)


def _return_address(context: Context) -> str:
    return context.settings.url.rstrip("/") + RETURN_PATH


# ---- the cookie


def _closed(context: Context, attempt: Attempt) -> str:
    text = _base64(json.dumps(asdict(attempt)).encode())
    return f"{text}.{sealed(context.settings.secret, 'sign on', text)}"


def _opened(context: Context, cookie: str) -> Attempt | None:
    text, _, seal = cookie.partition(".")
    if not same(seal, sealed(context.settings.secret, "sign on", text)):
        return None
    attempt = Attempt(**json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
    return attempt if attempt.until >= time.time() else None


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


# ---- the provider


def _doors(asked: SignOn) -> dict[str, Any]:
    """What the provider says of itself."""
    until, found = _known.get(asked.issuer, (0.0, {}))
    if until < time.monotonic():
        address = _safe(f"{asked.issuer.rstrip('/')}/.well-known/openid-configuration")
        found = _json(lambda client: client.get(address))
        if found.get("issuer") != asked.issuer:
            raise _refused("discovery")
        _known[asked.issuer] = (time.monotonic() + _KNOWN_S, found)
    return found


def _exchanged(context: Context, asked: SignOn, doors: Mapping[str, Any], code: str, attempt: Attempt) -> str:
    """The token for the code, which only this server can ask for."""
    secret = asked.client_secret.get_secret_value()
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": _return_address(context),
        "code_verifier": attempt.verifier,
    }
    ways = doors.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    login: tuple[str, str] | None = (quote(asked.client_id, safe=""), quote(secret, safe=""))
    if "client_secret_basic" not in ways:
        form, login = {**form, "client_id": asked.client_id, "client_secret": secret}, None
    door = _address(doors, "token_endpoint")
    found = _json(lambda client: client.post(door, data=form, auth=login or httpx2.USE_CLIENT_DEFAULT))
    if not isinstance(found.get("id_token"), str):
        raise _refused("token")
    return str(found["id_token"])


def _claims(asked: SignOn, doors: Mapping[str, Any], token: str, nonce: str) -> dict[str, Any]:
    """What the token says, once its signature, issuer, audience, time and nonce fit."""
    address = _address(doors, "jwks_uri")
    keys = _json(lambda client: client.get(address))
    registry = jwt.JWTClaimsRegistry(
        leeway=_LEEWAY_S,
        iss={"essential": True, "value": asked.issuer},
        aud={"essential": True, "value": asked.client_id},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": nonce},
        sub={"essential": True},
    )
    try:
        claims = dict(jwt.decode(token, KeySet.import_key_set(keys), algorithms=ALGORITHMS).claims)  # type: ignore[arg-type]
        registry.validate(claims)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise _refused(type(error).__name__) from None
    audience = claims["aud"]
    is_shared = isinstance(audience, list) and len(audience) > 1
    if claims.get("azp", None if is_shared else asked.client_id) != asked.client_id:
        raise _refused("azp")
    return claims


def _subject(asked: SignOn, claims: Mapping[str, Any]) -> str:
    found = claims.get(asked.claim)
    if not isinstance(found, str) or not 0 < len(found) <= 200 or not found.isprintable():
        raise _refused("claim")
    if asked.claim == "email" and claims.get("email_verified") is not True:
        raise _refused("email", "Your organization must have verified your e-mail address, but it has not.")
    return found


def _json(call: Any) -> dict[str, Any]:
    """The provider's answer."""
    try:
        with httpx2.Client(timeout=10.0, follow_redirects=False) as client:
            response = call(client)
        found = response.json() if response.is_success and len(response.content) <= _MOST_BYTES else None
    except (httpx2.HTTPError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise _refused("provider", "Your organization's sign-in does not answer. Try again later.")
    return found


def _address(doors: Mapping[str, Any], name: str) -> str:
    return _safe(str(doors.get(name, "")))


def _safe(address: str) -> str:
    """Refuse what others could read or change on the way."""
    parts = urlsplit(address)
    try:
        is_here = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        is_here = parts.hostname == "localhost"
    if parts.scheme != "https" and not (parts.scheme == "http" and is_here):
        raise _refused("address", "Single sign-on must be over HTTPS, but it is not. Ask who runs the service.")
    return address
