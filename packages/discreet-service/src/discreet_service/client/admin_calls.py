"""What admins and auditors do: accounts, keys, audit, verification, health."""

from typing import Any

from discreet_service.client.caller import Caller


class AdminCalls(Caller):
    """The verbs of those who keep a service running and honest, and everybody's keys."""

    def me(self) -> dict[str, Any]:
        """Return your name, role and projects."""
        account: dict[str, Any] = self._get("me")
        return account

    def users(self) -> list[dict[str, Any]]:
        """Return all accounts by name."""
        accounts: list[dict[str, Any]] = self._get("users")
        return accounts

    def add_user(
        self, name: str, role: str, *, shown: str = "", password: str | None = None, subject: str | None = None
    ) -> dict[str, Any]:
        """Make an account."""
        body = {"name": name, "role": role, "shown": shown, "password": password, "subject": subject}
        account: dict[str, Any] = self._post("users", body=body)
        return account

    def change_user(
        self, name: str, *, disabled: bool | None = None, role: str | None = None, password: str | None = None
    ) -> dict[str, Any]:
        """Change an account: its sessions end; a disabled one loses its keys."""
        changes = {"disabled": disabled, "role": role, "password": password}
        body = {field: value for field, value in changes.items() if value is not None}
        account: dict[str, Any] = self._read(self._connection.call("PATCH", self._path("users", name), body=body))
        return account

    def keys(self) -> list[dict[str, Any]]:
        """Return your keys without their secrets, the newest first; an admin's are everybody's."""
        keys: list[dict[str, Any]] = self._get("keys")
        return keys

    def make_key(self, label: str, days: int = 90) -> dict[str, Any]:
        """Make a key of your own; its secret is `key`, this once."""
        key: dict[str, Any] = self._post("keys", body={"label": label, "days": days})
        return key

    def revoke_key(self, id: str) -> dict[str, Any]:
        """Revoke a key of your own; an admin may revoke any."""
        key: dict[str, Any] = self._read(self._connection.call("DELETE", self._path("keys", id)))
        return key

    def audit(self, limit: int | None = 50) -> list[dict[str, Any]]:
        """Return the entries of the audit, the newest first: who did what."""
        return list(self._pages("audit", limit=limit))

    def verify(self) -> dict[str, Any]:
        """Have the ledger's chain, accounts and releases recomputed and compared, also with its witness."""
        verification: dict[str, Any] = self._post("verification", repeatable=True)
        return verification

    def health(self) -> dict[str, str]:
        """Return whether the service can answer."""
        status: dict[str, str] = self._get("health")
        return status
