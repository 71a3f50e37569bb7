"""The joints of the house: one request from its parameters to its release, and what surrounds it."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.data.engines.sql_identity import database_relatives as database_relatives
    from discreet.data.engines.sql_identity import database_server as database_server
    from discreet.data.lint import findings_together as findings_together
    from discreet.data.metadata import Metadata as Metadata
    from discreet.data.public_moments import public_moments as public_moments
    from discreet.data.skeleton import kind_of as kind_of
    from discreet.data.sources import DATABASE_SUFFIXES as DATABASE_SUFFIXES
    from discreet.data.sources import open_table as open_table
    from discreet.ledger import MEANINGS as MEANINGS
    from discreet.ledger import OUTCOMES as OUTCOMES
    from discreet.ledger import Account as Account
    from discreet.ledger import Allotment as Allotment
    from discreet.ledger import Entry as Entry
    from discreet.ledger import Ledger as Ledger
    from discreet.mechanisms.rng import token as token
    from discreet.methods.answers.fit_answers import FitAnswers as FitAnswers
    from discreet.methods.answers.fit_answers import Interval as Interval
    from discreet.methods.base.candidates import candidates_record as candidates_record
    from discreet.methods.registry import FAMILIES as FAMILIES
    from discreet.methods.registry import method_of as method_of
    from discreet.methods.registry import require_method as require_method
    from discreet.parameters.by_method import ranges_as_schema as ranges_as_schema
    from discreet.release import Release as Release
    from discreet.workflow.auto import auto_method as auto_method
    from discreet.workflow.chance import chance_before as chance_before
    from discreet.workflow.chance import epsilon_needed as epsilon_needed
    from discreet.workflow.delivery import Delivery as Delivery
    from discreet.workflow.derive import chosen_by as chosen_by
    from discreet.workflow.derive import fit_from as fit_from
    from discreet.workflow.derive import select_from as select_from
    from discreet.workflow.derive import selection_of as selection_of
    from discreet.workflow.derive import with_posterior as with_posterior
    from discreet.workflow.dry_runs import DryRun as DryRun
    from discreet.workflow.dry_runs import dry_run as dry_run
    from discreet.workflow.expectation import EPSILONS as EPSILONS
    from discreet.workflow.expectation import Choice as Choice
    from discreet.workflow.expectation import Expectation as Expectation
    from discreet.workflow.expectation import Question as Question
    from discreet.workflow.expectation_figures import expect as expect
    from discreet.workflow.expectation_figures import refined as refined
    from discreet.workflow.expectation_parts import expected_parts as expected_parts
    from discreet.workflow.expectation_parts import parts_record as parts_record
    from discreet.workflow.expectation_report import accuracy_picture as accuracy_picture
    from discreet.workflow.expectation_report import expectation_page as expectation_page
    from discreet.workflow.hybrid import check_weighted as check_weighted
    from discreet.workflow.hybrid import expected_errors as expected_errors
    from discreet.workflow.hybrid import open_public as open_public
    from discreet.workflow.hybrid import weighted_records as weighted_records
    from discreet.workflow.hybrid import write_weighted as write_weighted
    from discreet.workflow.metadata import check_metadata as check_metadata
    from discreet.workflow.metadata import check_metadata_text as check_metadata_text
    from discreet.workflow.metadata import convert_metadata as convert_metadata
    from discreet.workflow.metadata import derived_columns as derived_columns
    from discreet.workflow.metadata import metadata_of_header as metadata_of_header
    from discreet.workflow.metadata import metadata_schema as metadata_schema
    from discreet.workflow.paid_ceiling import free_reserved as free_reserved
    from discreet.workflow.paid_parts import pay_as_you_go as pay_as_you_go
    from discreet.workflow.paid_request import PartsRequest as PartsRequest
    from discreet.workflow.paid_request import is_in_parts as is_in_parts
    from discreet.workflow.paid_request import price_parts as price_parts
    from discreet.workflow.paid_terms import terms_for as terms_for
    from discreet.workflow.pooled_parts import parts_of as parts_of
    from discreet.workflow.priced_request import PricedRequest as PricedRequest
    from discreet.workflow.priced_request import price as price
    from discreet.workflow.recommendation import commands_by_selection as commands_by_selection
    from discreet.workflow.recommendation import recommended_command as recommended_command
    from discreet.workflow.recommendation import recommended_sentences as recommended_sentences
    from discreet.workflow.request import Answer as Answer
    from discreet.workflow.request import answer as answer
    from discreet.workflow.request import check_table as check_table
    from discreet.workflow.request import fulfil as fulfil
    from discreet.workflow.request import reserve as reserve
    from discreet.workflow.request_outlook import Outlook as Outlook
    from discreet.workflow.request_outlook import outlook as outlook
    from discreet.workflow.run_file import RunFile as RunFile
    from discreet.workflow.run_file import read_run as read_run
    from discreet.workflow.table_shape import compare_header as compare_header
    from discreet.workflow.table_shape import misfits as misfits
    from discreet.workflow.table_shape import new_metadata as new_metadata
    from discreet.workflow.table_shape import write_dummy as write_dummy
    from discreet.workflow.verification import verify as verify

# Imported on first use: a command that checks metadata must not wait for the ledger. No function may have the name of
# a module here, for an imported module takes its place.
_HOMES = {
    "Account": "discreet.ledger",
    "Allotment": "discreet.ledger",
    "Answer": "discreet.workflow.request",
    "Choice": "discreet.workflow.expectation",
    "DATABASE_SUFFIXES": "discreet.data.sources",
    "Delivery": "discreet.workflow.delivery",
    "DryRun": "discreet.workflow.dry_runs",
    "EPSILONS": "discreet.workflow.expectation",
    "Entry": "discreet.ledger",
    "MEANINGS": "discreet.ledger",
    "OUTCOMES": "discreet.ledger",
    "Expectation": "discreet.workflow.expectation",
    "FitAnswers": "discreet.methods.answers.fit_answers",
    "Interval": "discreet.methods.answers.fit_answers",
    "Ledger": "discreet.ledger",
    "Metadata": "discreet.data.metadata",
    "PricedRequest": "discreet.workflow.priced_request",
    "Question": "discreet.workflow.expectation",
    "Release": "discreet.release",
    "RunFile": "discreet.workflow.run_file",
    "accuracy_picture": "discreet.workflow.expectation_report",
    "answer": "discreet.workflow.request",
    "auto_method": "discreet.workflow.auto",
    "candidates_record": "discreet.methods.base.candidates",
    "chance_before": "discreet.workflow.chance",
    "check_metadata": "discreet.workflow.metadata",
    "check_metadata_text": "discreet.workflow.metadata",
    "findings_together": "discreet.data.lint",
    "metadata_of_header": "discreet.workflow.metadata",
    "check_table": "discreet.workflow.request",
    "check_weighted": "discreet.workflow.hybrid",
    "chosen_by": "discreet.workflow.derive",
    "compare_header": "discreet.workflow.table_shape",
    "convert_metadata": "discreet.workflow.metadata",
    "kind_of": "discreet.data.skeleton",
    "metadata_schema": "discreet.workflow.metadata",
    "database_relatives": "discreet.data.engines.sql_identity",
    "database_server": "discreet.data.engines.sql_identity",
    "derived_columns": "discreet.workflow.metadata",
    "dry_run": "discreet.workflow.dry_runs",
    "epsilon_needed": "discreet.workflow.chance",
    "expect": "discreet.workflow.expectation_figures",
    "expectation_page": "discreet.workflow.expectation_report",
    "expected_errors": "discreet.workflow.hybrid",
    "fit_from": "discreet.workflow.derive",
    "fulfil": "discreet.workflow.request",
    "FAMILIES": "discreet.methods.registry",
    "method_of": "discreet.methods.registry",
    "require_method": "discreet.methods.registry",
    "misfits": "discreet.workflow.table_shape",
    "new_metadata": "discreet.workflow.table_shape",
    "Outlook": "discreet.workflow.request_outlook",
    "outlook": "discreet.workflow.request_outlook",
    "open_public": "discreet.workflow.hybrid",
    "open_table": "discreet.data.sources",
    "expected_parts": "discreet.workflow.expectation_parts",
    "parts_record": "discreet.workflow.expectation_parts",
    "free_reserved": "discreet.workflow.paid_ceiling",
    "parts_of": "discreet.workflow.pooled_parts",
    "pay_as_you_go": "discreet.workflow.paid_parts",
    "PartsRequest": "discreet.workflow.paid_request",
    "is_in_parts": "discreet.workflow.paid_request",
    "price_parts": "discreet.workflow.paid_request",
    "public_moments": "discreet.data.public_moments",
    "price": "discreet.workflow.priced_request",
    "terms_for": "discreet.workflow.paid_terms",
    "ranges_as_schema": "discreet.parameters.by_method",
    "read_run": "discreet.workflow.run_file",
    "commands_by_selection": "discreet.workflow.recommendation",
    "recommended_command": "discreet.workflow.recommendation",
    "recommended_sentences": "discreet.workflow.recommendation",
    "refined": "discreet.workflow.expectation_figures",
    "reserve": "discreet.workflow.request",
    "select_from": "discreet.workflow.derive",
    "selection_of": "discreet.workflow.derive",
    "token": "discreet.mechanisms.rng",
    "verify": "discreet.workflow.verification",
    "weighted_records": "discreet.workflow.hybrid",
    "write_dummy": "discreet.workflow.table_shape",
    "with_posterior": "discreet.workflow.derive",
    "write_weighted": "discreet.workflow.hybrid",
}

__all__ = [
    "DATABASE_SUFFIXES",
    "EPSILONS",
    "FAMILIES",
    "MEANINGS",
    "OUTCOMES",
    "Account",
    "Allotment",
    "Answer",
    "Choice",
    "Delivery",
    "DryRun",
    "Entry",
    "Expectation",
    "FitAnswers",
    "Interval",
    "Ledger",
    "Metadata",
    "Outlook",
    "PartsRequest",
    "PricedRequest",
    "Question",
    "Release",
    "RunFile",
    "accuracy_picture",
    "answer",
    "auto_method",
    "chance_before",
    "check_metadata",
    "check_metadata_text",
    "check_table",
    "check_weighted",
    "chosen_by",
    "commands_by_selection",
    "compare_header",
    "convert_metadata",
    "database_relatives",
    "database_server",
    "derived_columns",
    "dry_run",
    "epsilon_needed",
    "expect",
    "expectation_page",
    "expected_errors",
    "expected_parts",
    "findings_together",
    "fit_from",
    "free_reserved",
    "fulfil",
    "is_in_parts",
    "kind_of",
    "metadata_of_header",
    "metadata_schema",
    "method_of",
    "misfits",
    "new_metadata",
    "open_public",
    "open_table",
    "outlook",
    "parts_of",
    "parts_record",
    "pay_as_you_go",
    "price",
    "price_parts",
    "ranges_as_schema",
    "read_run",
    "recommended_command",
    "recommended_sentences",
    "refined",
    "require_method",
    "reserve",
    "select_from",
    "selection_of",
    "terms_for",
    "token",
    "verify",
    "weighted_records",
    "with_posterior",
    "write_dummy",
    "write_weighted",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.workflow' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
