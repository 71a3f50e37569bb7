"""Roles: what a person may do at all. What they may see is decided where it is looked up."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a person is to the service; each has one."""

    ANALYST = "analyst"
    CURATOR = "curator"
    AUDITOR = "auditor"
    ADMIN = "admin"


EVERYONE = frozenset(Role)
"""All who are signed in."""

READERS = frozenset({Role.ANALYST, Role.CURATOR, Role.AUDITOR})
"""Those who may see data sets' metadata, budgets and releases: not those who only keep the service running."""


@dataclass(frozen=True)
class Principal:
    """Who is asking: an account and its role."""

    name: str
    role: Role
    until: str | None = None  # when the key ends that was sent; None for a session
    key: str | None = None  # its public part

    @property
    def sees_all(self) -> bool:
        """Whether requests and releases of all projects are shown."""
        return self.role in (Role.CURATOR, Role.AUDITOR)
