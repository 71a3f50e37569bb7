"""Transactions on a database: short, durable, and with errors in one line."""

from discreet.database.location import Location, Unreachable, resolve
from discreet.database.revisions import Migrations
from discreet.database.transactions import Database

__all__ = ["Database", "Location", "Migrations", "Unreachable", "resolve"]
