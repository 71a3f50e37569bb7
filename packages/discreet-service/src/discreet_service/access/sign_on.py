"""Single sign-on by OpenID Connect: the authorization code flow, with PKCE, state and nonce.

Accounts are matched by what the provider calls a person, and never made here.
"""

import base64
import hashlib
import ipaddress
import json
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import KeySet

from discreet import workflow
from discreet.errors import ForbiddenError
from discreet_service.access import authentication
from discreet_service.access.digests import keyed_digest, same_secret
from discreet_service.context import Context
from discreet_service.logs import log
from discreet_service.settings import SignOn
from discreet_service.store import audit, users

RETURN_PATH = "/sign-on/return"
TIMEOUT_S = 600
"""Seconds that a person has to sign in at the provider."""

ALGORITHMS = [
    *(f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)),
    "EdDSA",
    "Ed25519",
    "Ed448",
]
"""Signatures by a key that the provider alone has: none, and what a client's secret signs, are not among them. EdDSA is
the older name of the two after it (RFC 9864): the key says which it is, so a token cannot choose."""

_SCOPES = {"email": "openid email", "preferred_username": "openid profile"}
_MOST_BYTES = 1 << 20
_LEEWAY_S = 60
_METADATA_AGE_S = 300.0
_metadata_cache: dict[str, tuple[float, dict[str, Any]]] = {}
"""The provider's metadata, and until when they hold, by issuer."""


@dataclass(frozen=True)
class Attempt:
    """A sign-in at the provider; a cookie of the browser holds it, sealed."""

    state: str  # that the answer is to this browser
    nonce: str  # that the token is for this answer
    verifier: str  # that the code is for this server (PKCE)
    next: str  # where the browser wanted to go
    until: int  # seconds since 1970


def begin(context: Context, next_: str) -> tuple[str, str]:
    """Return the address at which the provider signs people in, and the text of the cookie to come back with."""
    provider = _settings(context)
    attempt = Attempt(workflow.token(), workflow.token(), workflow.token(40), next_, int(time.time()) + TIMEOUT_S)
    query = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": _return_address(context),
        "scope": _SCOPES.get(provider.claim, "openid"),
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": _base64(hashlib.sha256(attempt.verifier.encode()).digest()),
        "code_challenge_method": "S256",
    }
    endpoint = _address(_provider_metadata(provider), "authorization_endpoint")
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}", _seal_attempt(context, attempt)


def finish(context: Context, cookie: str, answer: Mapping[str, str]) -> tuple[str, str]:
    """Check the provider's answer, open a session for its account, and return the token and where to go next."""
    provider = _settings(context)
    attempt = _unseal_attempt(context, cookie)
    if attempt is None or not same_secret(answer.get("state", ""), attempt.state):
        raise _refusal("state", "This sign-in was not begun in this browser, or too long ago. Begin again.")
    if answer.get("iss", provider.issuer) != provider.issuer:
        raise _refusal("issuer")
    if "error" in answer or not answer.get("code"):
        raise _refusal("declined", "Your organization did not sign you in. Begin again, or ask there.")
    metadata = _provider_metadata(provider)
    token = _exchange_code(context, provider, metadata, answer["code"], attempt)
    subject = _subject(provider, _claims(provider, metadata, token, attempt.nonce))
    with context.database.read() as connection:
        user = users.find_by_subject(connection, subject)
    if user is None:
        with context.database.write() as connection:
            audit.record(
                connection, "-", "sign-in failed", keyed_digest(context.settings.secret, "subject", subject)[:16]
            )
        raise _refusal("account", f"No account here is yours. Ask an admin for one, with the subject {subject}.")
    return authentication.open_session(context, user.name), attempt.next


def _settings(context: Context) -> SignOn:
    if context.settings.sign_on is None:
        raise ForbiddenError("Single sign-on must be set up to be used, but it is not. Sign in with a password.")
    return context.settings.sign_on


def _refusal(kind: str, text: str = "Your organization's answer does not fit. Begin again, or ask an admin.") -> Any:
    """Return an error and log its kind: who runs the service reads which check failed, who signs in need not know."""
    log("sign-on refused", kind=kind)
    return ForbiddenError(text)


def _return_address(context: Context) -> str:
    return context.settings.url.rstrip("/") + RETURN_PATH


# ---- the cookie


def _seal_attempt(context: Context, attempt: Attempt) -> str:
    text = _base64(json.dumps(asdict(attempt)).encode())
    return f"{text}.{keyed_digest(context.settings.secret, 'sign on', text)}"


def _unseal_attempt(context: Context, cookie: str) -> Attempt | None:
    text, _, seal = cookie.partition(".")
    if not same_secret(seal, keyed_digest(context.settings.secret, "sign on", text)):
        return None
    attempt = Attempt(**json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
    return attempt if attempt.until >= time.time() else None


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


# ---- the provider


def _provider_metadata(provider: SignOn) -> dict[str, Any]:
    """Return the provider metadata (OpenID Connect Discovery), cached for a few minutes."""
    until, metadata = _metadata_cache.get(provider.issuer, (0.0, {}))
    if until < time.monotonic():
        address = _safe(f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        metadata = _json(lambda client: client.get(address))
        if metadata.get("issuer") != provider.issuer:
            raise _refusal("discovery")
        _metadata_cache[provider.issuer] = (time.monotonic() + _METADATA_AGE_S, metadata)
    return metadata


def _exchange_code(context: Context, provider: SignOn, metadata: Mapping[str, Any], code: str, attempt: Attempt) -> str:
    """Exchange the code for the id token, which only this server can."""
    secret = provider.client_secret.get_secret_value()
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": _return_address(context),
        "code_verifier": attempt.verifier,
    }
    auth_methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    # RFC 6749, 2.3.1: id and secret are form-encoded before they go into the Basic header.
    login: tuple[str, str] | None = (quote(provider.client_id, safe=""), quote(secret, safe=""))
    if "client_secret_basic" not in auth_methods:
        form, login = {**form, "client_id": provider.client_id, "client_secret": secret}, None
    endpoint = _address(metadata, "token_endpoint")
    tokens = _json(lambda client: client.post(endpoint, data=form, auth=login or httpx2.USE_CLIENT_DEFAULT))
    if not isinstance(tokens.get("id_token"), str):
        raise _refusal("token")
    return str(tokens["id_token"])


def _claims(provider: SignOn, metadata: Mapping[str, Any], token: str, nonce: str) -> dict[str, Any]:
    """Return the claims of a token whose signature, issuer, audience, time and nonce are valid."""
    address = _address(metadata, "jwks_uri")
    keys = _json(lambda client: client.get(address))
    registry = jwt.JWTClaimsRegistry(
        leeway=_LEEWAY_S,
        iss={"essential": True, "value": provider.issuer},
        aud={"essential": True, "value": provider.client_id},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": nonce},
        sub={"essential": True},
    )
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "EdDSA", SecurityWarning)
            decoded = jwt.decode(token, KeySet.import_key_set(keys), algorithms=ALGORITHMS)  # type: ignore[arg-type]
        claims = dict(decoded.claims)
        registry.validate(claims)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise _refusal(type(error).__name__) from None
    # OpenID Connect Core 3.1.3.7, 4 and 5: a token for several clients must name this one in azp.
    audience = claims["aud"]
    is_shared = isinstance(audience, list) and len(audience) > 1
    if claims.get("azp", None if is_shared else provider.client_id) != provider.client_id:
        raise _refusal("azp")
    return claims


def _subject(provider: SignOn, claims: Mapping[str, Any]) -> str:
    subject = claims.get(provider.claim)
    if not isinstance(subject, str) or not 0 < len(subject) <= 200 or not subject.isprintable():
        raise _refusal("claim")
    if provider.claim == "email" and claims.get("email_verified") is not True:
        raise _refusal("email", "Your organization must have verified your e-mail address, but it has not.")
    return subject


def _json(call: Any) -> dict[str, Any]:
    """Return the JSON object that the provider answers with."""
    try:
        with httpx2.Client(timeout=10.0, follow_redirects=False) as client:
            response = call(client)
        document = response.json() if response.is_success and len(response.content) <= _MOST_BYTES else None
    except (httpx2.HTTPError, ValueError):
        document = None
    if not isinstance(document, dict):
        raise _refusal("provider", "Your organization's sign-in does not answer. Try again later.")
    return document


def _address(metadata: Mapping[str, Any], name: str) -> str:
    return _safe(str(metadata.get(name, "")))


def _safe(address: str) -> str:
    """Return an address of HTTPS, or of this machine; refuse any that others could read or change."""
    parts = urlsplit(address)
    try:
        is_loopback = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        is_loopback = parts.hostname == "localhost"
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback):
        raise _refusal("address", "Single sign-on must be over HTTPS, but it is not. Ask who runs the service.")
    return address
