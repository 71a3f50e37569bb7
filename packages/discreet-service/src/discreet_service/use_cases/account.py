"""One's own account."""

from discreet.errors import InvalidParameterError, NotSignedInError
from discreet_service.access import authentication
from discreet_service.access.digests import hash_password
from discreet_service.access.roles import Principal
from discreet_service.context import Context
from discreet_service.store import audit, users

LEAST_PASSWORD, MOST_PASSWORD = 12, 200


def change_password(context: Context, who: Principal, old: str, new: str, repeated: str, address: str) -> str:
    """Change one's own password; all sessions end, and the token of a new one is returned."""
    if not LEAST_PASSWORD <= len(new) <= MOST_PASSWORD:
        raise InvalidParameterError(
            f"A password must have {LEAST_PASSWORD} to {MOST_PASSWORD} characters, but the new one has {len(new)}. "
            "Several words are easy to keep in mind."
        )
    if new != repeated:
        raise InvalidParameterError("The two new passwords differ. Type the same one twice.")
    try:
        authentication.check_password(context, who.name, old, address)
    except NotSignedInError:
        raise InvalidParameterError(
            "The password so far must be right, but it is not. Type it again, or ask an admin for a new one."
        ) from None
    password_hash = hash_password(new)
    with context.database.write() as connection:
        users.change(connection, who.name, password=password_hash)
        audit.record(connection, who.name, "change password", who.name)
    return authentication.open_session(context, who.name)
