"""The joints of the house: one request from its parameters to its release, and what surrounds it."""

from discreet.data.engines.sql_identity import database_relatives, database_server
from discreet.data.metadata import Metadata
from discreet.data.sources import DATABASE_SUFFIXES, open_table
from discreet.ledger import Account, Allotment, Entry, Ledger, Reservation, Verification
from discreet.mechanisms.rng import token
from discreet.methods.base.candidates import candidates_record
from discreet.methods.registry import method_of
from discreet.parameters.by_method import ranges_as_schema
from discreet.workflow.auto import auto_method
from discreet.workflow.delivery import Delivery
from discreet.workflow.derive import fit_from, select_from, selection_of
from discreet.workflow.expect import Choice, Expectation, Question, expect
from discreet.workflow.expectation import EPSILONS
from discreet.workflow.expectation_page import accuracy_picture, expectation_page
from discreet.workflow.hybrid import check_weighted, expected_errors, open_public, weighted_records, write_weighted
from discreet.workflow.metadata import check_metadata, convert_metadata, new_metadata, write_dummy
from discreet.workflow.plan import Plan, plan
from discreet.workflow.priced_request import PricedRequest, inquire
from discreet.workflow.reproduce import reproduce, studies
from discreet.workflow.request import Answer, answer, check_table, fulfil, reserve
from discreet.workflow.run_file import RunFile, read_run
from discreet.workflow.verify import verify

__all__ = [
    "DATABASE_SUFFIXES",
    "EPSILONS",
    "Account",
    "Allotment",
    "Answer",
    "Choice",
    "Delivery",
    "Entry",
    "Expectation",
    "Ledger",
    "Metadata",
    "Plan",
    "PricedRequest",
    "Question",
    "Reservation",
    "RunFile",
    "Verification",
    "accuracy_picture",
    "answer",
    "auto_method",
    "candidates_record",
    "check_metadata",
    "check_table",
    "check_weighted",
    "convert_metadata",
    "database_relatives",
    "database_server",
    "expect",
    "expectation_page",
    "expected_errors",
    "fit_from",
    "fulfil",
    "inquire",
    "method_of",
    "new_metadata",
    "open_public",
    "open_table",
    "plan",
    "ranges_as_schema",
    "read_run",
    "reproduce",
    "reserve",
    "select_from",
    "selection_of",
    "studies",
    "token",
    "verify",
    "weighted_records",
    "write_dummy",
    "write_weighted",
]
