"""Authentication: by a program's key, or by a browser's session."""

from discreet import workflow
from discreet.errors import NotSignedInError, TooManyRequestsError
from discreet_service.access.digests import keyed_digest, same_secret, verify_password
from discreet_service.access.roles import Principal
from discreet_service.clock import now
from discreet_service.context import Context
from discreet_service.store import audit, keys, users

MOST_FAILURES = {"pair": 10, "address": 100, "name": 200}
"""Sign-ins that may fail in a quarter of an hour: of one account from one address, from one address, of one account. A
stranger who fails on purpose locks out an address sooner than a person."""

_WINDOW_S = 900


def authenticate_key(context: Context, key: str) -> Principal:
    """Return the owner of a key, or refuse it."""
    prefix, _, rest = key.partition("_")
    id_, _, secret = rest.partition("_")
    with context.database.read() as connection:
        holder = keys.key_holder(connection, id_)
    digest = keyed_digest(context.settings.secret, "key", id_, secret)
    if prefix != "dk" or holder is None or not same_secret(digest, holder[0]):
        raise NotSignedInError(
            "This is not a valid key: it is unknown, expired or revoked. Create one on the page Keys; `discreet remote "
            "login` stores it, and other programs send it as `Authorization: Bearer KEY`."
        )
    return holder[1]


def authenticate_session(context: Context, token: str) -> Principal | None:
    """Return the owner of a session, or None where the token is of none that is valid."""
    with context.database.read() as connection:
        return keys.session_holder(connection, _session(context, token))


def sign_in(context: Context, name: str, password: str, address: str) -> str:
    """Check a password, and return the token of a new session."""
    return open_session(context, check_password(context, name, password, address))


def check_password(context: Context, name: str, password: str, address: str) -> str:
    """Return an account's name if the password is its own; failures are counted and limited."""
    parts_by_kind = {"pair": (name, address), "address": (address,), "name": (name,)}
    digests = {
        kind: keyed_digest(context.settings.secret, f"sign in by {kind}", *parts)
        for kind, parts in parts_by_kind.items()
    }
    with context.database.read() as connection:
        failures = {kind: keys.count_failures(connection, digest, now(-_WINDOW_S)) for kind, digest in digests.items()}
        account = users.credentials(connection, name)
    if any(failures[kind] >= most for kind, most in MOST_FAILURES.items()):
        raise TooManyRequestsError("Too many sign-ins failed. Try again in a quarter of an hour.")
    if not verify_password(password, None if account is None else account[1]) or account is None:
        with context.database.write() as connection:
            keys.add_failure(connection, *digests.values())
            audit.record(connection, "-", "sign-in failed", digests["name"][:16])
        raise NotSignedInError(
            "The name or the password is wrong. Try again, or ask an administrator for a new password."
        )
    with context.database.write() as connection:
        keys.forget_failures(connection, digests["pair"])
    return account[0].name


def open_session(context: Context, name: str) -> str:
    """Open a session of an authenticated account, and return its token, which only the browser keeps."""
    token = workflow.token(30)
    with context.database.write() as connection:
        keys.add_session(connection, _session(context, token), name, now(context.settings.session_h * 3600))
        audit.record(connection, name, "sign in", name)
    return token


def sign_out(context: Context, token: str) -> None:
    """End a session."""
    with context.database.write() as connection:
        keys.end_session(connection, _session(context, token))


def form_token(context: Context, token: str) -> str:
    """Return the token that a session's forms must bring back, which no other site can know (CSRF)."""
    return keyed_digest(context.settings.secret, "form", token)


def _session(context: Context, token: str) -> str:
    return keyed_digest(context.settings.secret, "session", token)
