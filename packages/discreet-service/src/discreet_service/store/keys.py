"""Keys of programs, and sessions of browsers: both are stored as digests."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from discreet.errors import ConflictError, NotFoundError
from discreet_service.access.roles import Principal, Role
from discreet_service.clock import now
from discreet_service.store.names import lock_table
from discreet_service.store.schema import keys, sessions, sign_ins, users


@dataclass(frozen=True)
class Key:
    """A key as it may be shown."""

    id: str  # its public part
    user: str  # its owner
    label: str
    created: str
    expires: str
    revoked: str | None


MOST_KEYS = 50
"""The most keys of one account that are valid at once."""

_HOLDER = (
    select(keys.c.digest, keys.c.expires, users.c.name, users.c.role)
    .join(users, users.c.name == keys.c.user)
    .where(keys.c.id == bindparam("id"), keys.c.revoked.is_(None), keys.c.expires > bindparam("now"), ~users.c.disabled)
)
_SESSION_HOLDER = (
    select(users.c.name, users.c.role)
    .join(sessions, sessions.c.user == users.c.name)
    .where(sessions.c.digest == bindparam("digest"), sessions.c.expires > bindparam("now"), ~users.c.disabled)
)
# What every call asks is built once: building takes longer than answering.

_SHOWN = (keys.c.id, keys.c.user, keys.c.label, keys.c.created, keys.c.expires, keys.c.revoked)


def lock_keys(connection: Connection) -> None:
    """Let no key be made or revoked by others until this transaction ends."""
    lock_table(connection, keys)


def add_key(connection: Connection, id_: str, who: Principal, label: str, digest: str, expires: str) -> Key:
    """Keep a new key by the digest of its secret; one that a key makes ends with it at the latest."""
    valid = (keys.c.user == who.name) & keys.c.revoked.is_(None) & (keys.c.expires > now())
    if connection.execute(select(func.count()).select_from(keys).where(valid)).scalar_one() >= MOST_KEYS:
        raise ConflictError(
            f"At most {MOST_KEYS} keys of one account may be valid at once, and so many are. Revoke those that no "
            "program uses any more."
        )
    values = {"id": id_, "user": who.name, "label": label, "digest": digest, "maker": who.key}
    expires = min(expires, who.until or expires)
    connection.execute(insert(keys).values(**values, expires=expires, created=now()))
    return Key(**connection.execute(select(*_SHOWN).where(keys.c.id == id_)).mappings().one())


def key_holder(connection: Connection, id_: str) -> tuple[str, Principal] | None:
    """Return the digest of a key that is valid now, and whose it is."""
    row = connection.execute(_HOLDER, {"id": id_, "now": now()}).one_or_none()
    return None if row is None else (row.digest, Principal(row.name, Role(row.role), row.expires, id_))


def keys_of(connection: Connection, user: str | None) -> list[Key]:
    """Return the keys of one account, or of all, the newest first."""
    query = select(*_SHOWN).order_by(keys.c.created.desc(), keys.c.id)
    if user is not None:
        query = query.where(keys.c.user == user)
    return [Key(**row) for row in connection.execute(query).mappings()]


def revoke(connection: Connection, id_: str, user: str | None) -> Key:
    """Revoke a key, of one account or of any, and all keys that were made with it."""
    lock_keys(connection)
    whose = keys.c.id == id_ if user is None else (keys.c.id == id_) & (keys.c.user == user)
    ended = select(keys.c.id).where(whose).cte(recursive=True)
    ended = ended.union(select(keys.c.id).join(ended, keys.c.maker == ended.c.id))
    is_ended = keys.c.id.in_(select(ended.c.id))
    connection.execute(update(keys).where(is_ended, keys.c.revoked.is_(None)).values(revoked=now()))
    row = connection.execute(select(*_SHOWN).where(whose)).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"A key must exist, but there is none with id={id_[:20]!r}.")
    return Key(**row)


def add_session(connection: Connection, digest: str, user: str, expires: str) -> None:
    """Keep a session, and forget those that are over."""
    connection.execute(delete(sessions).where(sessions.c.expires <= now()))
    connection.execute(insert(sessions).values(digest=digest, user=user, created=now(), expires=expires))


def session_holder(connection: Connection, digest: str) -> Principal | None:
    """Return whose session is valid now."""
    row = connection.execute(_SESSION_HOLDER, {"digest": digest, "now": now()}).one_or_none()
    return None if row is None else Principal(row.name, Role(row.role))


def end_session(connection: Connection, digest: str) -> None:
    """Forget a session."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest))


def count_failures(connection: Connection, digest: str, since: str) -> int:
    """Return how many sign-ins failed."""
    query = select(func.count()).select_from(sign_ins).where(sign_ins.c.whom == digest, sign_ins.c.time > since)
    return int(connection.execute(query).scalar_one())


def add_failure(connection: Connection, *digests: str) -> None:
    """Remember that a sign-in failed, for a day."""
    connection.execute(delete(sign_ins).where(sign_ins.c.time < now(-86_400)))
    connection.execute(insert(sign_ins), [{"whom": digest, "time": now()} for digest in digests])


def forget_failures(connection: Connection, digest: str) -> None:
    """Forget failed sign-ins after one that did not fail."""
    connection.execute(delete(sign_ins).where(sign_ins.c.whom == digest))
