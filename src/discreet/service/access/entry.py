"""Who is asking: by a program's key, or by a browser's session."""

from discreet import workflow
from discreet.errors import NotSignedInError, TooManyRequestsError
from discreet.service.access.digests import fits, same, sealed
from discreet.service.access.roles import Principal
from discreet.service.clock import now
from discreet.service.context import Context
from discreet.service.store import audit, keys, users

MOST_FAILURES = {"pair": 10, "address": 100, "name": 200}
"""Sign-ins that may fail in a quarter of an hour: of one account from one address, from one address, of one account. A
stranger who fails on purpose locks out an address sooner than a person."""

_WINDOW_S = 900


def of_key(context: Context, key: str) -> Principal:
    """Return whose key it is.

    Who asks.
    """
    prefix, _, rest = key.partition("_")
    id_, _, secret = rest.partition("_")
    with context.database.read() as connection:
        found = keys.key_holder(connection, id_)
    digest = sealed(context.settings.secret, "key", id_, secret)
    if prefix != "dk" or found is None or not same(digest, found[0]):
        raise NotSignedInError("A valid key is needed: send `Authorization: Bearer KEY`. Make one on the page Keys.")
    return found[1]


def of_session(context: Context, token: str) -> Principal | None:
    """Return whose session it is.

    None when it is none, or over.
    """
    with context.database.read() as connection:
        return keys.session_holder(connection, _session(context, token))


def sign_in(context: Context, name: str, password: str, address: str) -> str:
    """Check a password, and open a session with a token that no one had before.

    The token of the session.
    """
    return open_session(context, prove(context, name, password, address))


def prove(context: Context, name: str, password: str, address: str) -> str:
    """Check that somebody knows the password of an account.

    The account's name.
    """
    told = {"pair": (name, address), "address": (address,), "name": (name,)}
    whom = {kind: sealed(context.settings.secret, f"sign in by {kind}", *of) for kind, of in told.items()}
    with context.database.read() as connection:
        tried = {kind: keys.count_failures(connection, one, now(-_WINDOW_S)) for kind, one in whom.items()}
        found = users.credentials(connection, name)
    if any(tried[kind] >= most for kind, most in MOST_FAILURES.items()):
        raise TooManyRequestsError("Too many sign-ins failed. Try again in a quarter of an hour.")
    if not fits(password, None if found is None else found[1]) or found is None:
        with context.database.write() as connection:
            keys.add_failure(connection, *whom.values())
            audit.note(connection, "-", "sign-in failed", whom["name"][:16])
        raise NotSignedInError("Name and password must belong together, but they do not.")
    with context.database.write() as connection:
        keys.forget_failures(connection, whom["pair"])
    return found[0].name


def open_session(context: Context, name: str) -> str:
    """Open a session of an account that has proved who it is.

    Its token, which only the browser keeps.
    """
    token = workflow.token(30)
    with context.database.write() as connection:
        keys.add_session(connection, _session(context, token), name, now(context.settings.session_h * 3600))
        audit.note(connection, name, "sign in", name)
    return token


def sign_out(context: Context, token: str) -> None:
    """End a session."""
    with context.database.write() as connection:
        keys.end_session(connection, _session(context, token))


def form_token(context: Context, token: str) -> str:
    """Return the word that a form of a session must bring back: another site cannot know it.

    64 hexadecimal digits.
    """
    return sealed(context.settings.secret, "form", token)


def _session(context: Context, token: str) -> str:
    return sealed(context.settings.secret, "session", token)
