"""The joints of the house: one request from its parameters to its release, and what surrounds it."""

from discreet.data.duckdb import open_table
from discreet.data.metadata import Metadata
from discreet.ledger import Account, Entry, Ledger, Verification
from discreet.workflow.metadata import check_metadata, convert_metadata, new_metadata, write_dummy
from discreet.workflow.request import Answer, Plan, answer, method_of, plan
from discreet.workflow.verify import verify

__all__ = [
    "Account",
    "Answer",
    "Entry",
    "Ledger",
    "Metadata",
    "Plan",
    "Verification",
    "answer",
    "check_metadata",
    "convert_metadata",
    "method_of",
    "new_metadata",
    "open_table",
    "plan",
    "verify",
    "write_dummy",
]
