"""The navigation of every page, and the notices after a form was sent."""

from discreet_service.access.roles import EVERYONE, READERS, Role

_OVERSEERS = frozenset({Role.AUDITOR, Role.CURATOR, Role.ADMIN})
NAVIGATION: tuple[tuple[str, str, frozenset[Role]], ...] = (
    ("/", "Home", EVERYONE),
    ("/inbox", "Inbox", frozenset({Role.CURATOR})),
    ("/datasets", "Data sets", READERS),
    ("/metadata", "Metadata", frozenset({Role.CURATOR})),
    ("/plan", "Plan", frozenset({Role.ANALYST})),
    ("/requests", "Requests", READERS),
    ("/projects", "Projects", READERS),
    ("/users", "Users", frozenset({Role.ADMIN})),
    ("/audit", "Audit", _OVERSEERS),
    ("/keys", "Keys", EVERYONE),
)
"""Path, name, and the roles that may open it."""

NOTICES = {
    "registered": "The data set is registered. Now set a cap, then give a project an allotment.",
    "version": "The new version is registered. Revise waiting requests to use it.",
    "granted": "The cap is set.",
    "allotted": "The allotment is set.",
    "asked": "The request was sent.",
    "revised": "The request is changed. A curator must read it again.",
    "withdrawn": "The request is withdrawn.",
    "approved": "The request is approved, and its cost is charged.",
    "rejected": "The request is rejected.",
    "members": "The members are saved.",
    "revoked": "The key is revoked.",
    "changed": "The account is changed.",
    "password": "The password is changed. All your other sessions have ended.",
}
"""What a page says after a form was sent; its address names one of these, never a text."""
