"""The analyst's side of a service: the same words as on one's own table, sent to who holds the table."""

from discreet.client.remote import Remote
from discreet.client.requests import RemoteRequest

__all__ = ["Remote", "RemoteRequest"]
