"""What admins and auditors do: accounts, keys, audit, verification, health."""

from typing import Any

from discreet.client.caller import Caller


class AdminCalls(Caller):
    """The verbs of those who keep a service running and honest, and everybody's keys."""

    def me(self) -> dict[str, Any]:
        """Return who you are to the service.

        name, role and projects.
        """
        found: dict[str, Any] = self._get("me")
        return found

    def users(self) -> list[dict[str, Any]]:
        """Return all accounts.

        By name.
        """
        found: list[dict[str, Any]] = self._get("users")
        return found

    def add_user(
        self, name: str, role: str, *, shown: str = "", password: str | None = None, subject: str | None = None
    ) -> dict[str, Any]:
        """Make an account.

        The account.
        """
        body = {"name": name, "role": role, "shown": shown, "password": password, "subject": subject}
        made: dict[str, Any] = self._post("users", body=body)
        return made

    def change_user(
        self, name: str, *, disabled: bool | None = None, role: str | None = None, password: str | None = None
    ) -> dict[str, Any]:
        """Change an account: its sessions end; a disabled one loses its keys.

        The account.
        """
        given = {"disabled": disabled, "role": role, "password": password}
        body = {field: value for field, value in given.items() if value is not None}
        changed: dict[str, Any] = self._read(self._connection.call("PATCH", self._path("users", name), body=body))
        return changed

    def keys(self) -> list[dict[str, Any]]:
        """Return your keys without the keys themselves; an admin's are everybody's.

        The newest first.
        """
        found: list[dict[str, Any]] = self._get("keys")
        return found

    def make_key(self, label: str, days: int = 90) -> dict[str, Any]:
        """Make a key of your own.

        With the key itself as `key`, this once.
        """
        made: dict[str, Any] = self._post("keys", body={"label": label, "days": days})
        return made

    def revoke_key(self, id: str) -> dict[str, Any]:
        """Revoke a key of your own; an admin may revoke any.

        As it stands.
        """
        found: dict[str, Any] = self._read(self._connection.call("DELETE", self._path("keys", id)))
        return found

    def audit(self, limit: int | None = 50) -> list[dict[str, Any]]:
        """Return who did what, the newest first.

        Lines of the audit.
        """
        return list(self._pages("audit", limit=limit))

    def verify(self) -> dict[str, Any]:
        """Have the ledger's chain, accounts and releases recomputed and compared, also with its witness.

        What was checked, and the head.
        """
        found: dict[str, Any] = self._post("verification", repeatable=True)
        return found

    def health(self) -> dict[str, str]:
        """Return whether the service can answer.

        Its status.
        """
        found: dict[str, str] = self._get("health")
        return found
