"""The joints of the house: one request from its parameters to its release, and what surrounds it."""

from discreet.data.duckdb import open_table
from discreet.data.metadata import Metadata
from discreet.ledger import Account, Entry, Ledger, Verification
from discreet.methods.candidates import candidates_record
from discreet.methods.registry import method_of
from discreet.workflow.auto import auto_method
from discreet.workflow.derive import fit_from, select_from
from discreet.workflow.expect import Choice, Expectation, Question, expect
from discreet.workflow.expectation_page import expectation_page
from discreet.workflow.hybrid import check_weighted, expected_errors, open_public, weighted_records, write_weighted
from discreet.workflow.metadata import check_metadata, convert_metadata, new_metadata, write_dummy
from discreet.workflow.plan import Plan, plan
from discreet.workflow.reproduce import reproduce, studies
from discreet.workflow.request import Answer, answer
from discreet.workflow.run_file import RunFile, read_run
from discreet.workflow.verify import verify

__all__ = [
    "Account",
    "Answer",
    "Choice",
    "Entry",
    "Expectation",
    "Ledger",
    "Metadata",
    "Plan",
    "Question",
    "RunFile",
    "Verification",
    "answer",
    "auto_method",
    "candidates_record",
    "check_metadata",
    "check_weighted",
    "convert_metadata",
    "expect",
    "expectation_page",
    "expected_errors",
    "fit_from",
    "method_of",
    "new_metadata",
    "open_public",
    "open_table",
    "plan",
    "read_run",
    "reproduce",
    "select_from",
    "studies",
    "verify",
    "weighted_records",
    "write_dummy",
    "write_weighted",
]
