"""The analyst's side of a service: the same words as on one's own table, sent to who holds the table."""

from discreet_service.client.remote import Remote
from discreet_service.client.requests import RemoteRequest

__all__ = ["Remote", "RemoteRequest"]
