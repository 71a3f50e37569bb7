"""Transactions on a database: short, durable, and with errors in one line."""

from discreet.database.location import Location, Unreachable, resolve
from discreet.database.patience import is_waiting, say_awaited, waiting
from discreet.database.revisions import Migrations
from discreet.database.transactions import Database

__all__ = ["Database", "Location", "Migrations", "Unreachable", "is_waiting", "resolve", "say_awaited", "waiting"]
