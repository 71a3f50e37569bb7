"""Discreet tells which variables matter in a table about people, under a differential privacy guarantee."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.accounting.guarantee import Guarantee as Guarantee
    from discreet.accounting.neighbors import NeighboringRelation as NeighboringRelation
    from discreet.data.metadata import Metadata as Metadata
    from discreet.data.public_moments import public_moments as public_moments
    from discreet.data.sources import open_table as open_table
    from discreet.estimators.auto import AutoSelection as AutoSelection
    from discreet.estimators.best_subsets import best_subsets as best_subsets
    from discreet.estimators.decorrelated_scores import DecorrelatedScores as DecorrelatedScores
    from discreet.estimators.hybrid import HybridEstimator as HybridEstimator
    from discreet.estimators.pcls import PCLS as PCLS
    from discreet.estimators.pcpl import PCPL as PCPL
    from discreet.estimators.perturbed_histogram import PerturbedHistogram as PerturbedHistogram
    from discreet.estimators.public_screening import sure_independence_screening as sure_independence_screening
    from discreet.estimators.public_subset import PublicSubset as PublicSubset
    from discreet.estimators.sis import DPSIS as DPSIS
    from discreet.estimators.two_stage import TwoStage as TwoStage
    from discreet.kernels.top_k.top_k_metrics import top_k_metrics as top_k_metrics
    from discreet.ledger import Ledger as Ledger
    from discreet.methods.answers.fit_answers import FitAnswers as FitAnswers
    from discreet.release import Release as Release
    from discreet.report import render as render
    from discreet.report.accuracy_chart import accuracy_chart as accuracy_chart
    from discreet.report.model_charts import subset_chart as subset_chart
    from discreet.simulation.fits import expected_fit as expected_fit
    from discreet.simulation.rivals import Rival as Rival
    from discreet.simulation.scenario import Scenario as Scenario
    from discreet.simulation.selection import expected_selection as expected_selection
    from discreet.simulation.top_k import top_k_accuracy as top_k_accuracy
    from discreet_service.client.remote import Remote as Remote

# Imported on first use: the command line must not wait for scikit-learn.
_HOMES = {
    "AutoSelection": "discreet.estimators.auto",
    "DPSIS": "discreet.estimators.sis",
    "DecorrelatedScores": "discreet.estimators.decorrelated_scores",
    "FitAnswers": "discreet.methods.answers.fit_answers",
    "Guarantee": "discreet.accounting.guarantee",
    "HybridEstimator": "discreet.estimators.hybrid",
    "Ledger": "discreet.ledger",
    "Metadata": "discreet.data.metadata",
    "NeighboringRelation": "discreet.accounting.neighbors",
    "PCLS": "discreet.estimators.pcls",
    "PoissonRegression": "discreet.estimators.regression",
    "NoisyMoments": "discreet.estimators.noisy_moments",
    "LogisticRegression": "discreet.estimators.regression",
    "LinearRegression": "discreet.estimators.regression",
    "PCPL": "discreet.estimators.pcpl",
    "PerturbedHistogram": "discreet.estimators.perturbed_histogram",
    "PublicSubset": "discreet.estimators.public_subset",
    "Release": "discreet.release",
    "Remote": "discreet_service.client.remote",
    "Rival": "discreet.simulation.rivals",
    "Scenario": "discreet.simulation.scenario",
    "TwoStage": "discreet.estimators.two_stage",
    "accounting": "discreet",
    "accuracy_chart": "discreet.report.accuracy_chart",
    "best_subsets": "discreet.estimators.best_subsets",
    "errors": "discreet",
    "expected_fit": "discreet.simulation.fits",
    "expected_selection": "discreet.simulation.selection",
    "mechanisms": "discreet",
    "open_table": "discreet.data.sources",
    "public_moments": "discreet.data.public_moments",
    "render": "discreet.report",
    "subset_chart": "discreet.report.model_charts",
    "sure_independence_screening": "discreet.estimators.public_screening",
    "top_k_accuracy": "discreet.simulation.top_k",
    "top_k_metrics": "discreet.kernels.top_k.top_k_metrics",
    "workflow": "discreet",
}

__all__ = [
    "DPSIS",
    "PCLS",
    "PCPL",
    "AutoSelection",
    "DecorrelatedScores",
    "FitAnswers",
    "Guarantee",
    "HybridEstimator",
    "Ledger",
    "LinearRegression",
    "LogisticRegression",
    "Metadata",
    "NeighboringRelation",
    "NoisyMoments",
    "PerturbedHistogram",
    "PoissonRegression",
    "PublicSubset",
    "Release",
    "Rival",
    "Scenario",
    "TwoStage",
    "accuracy_chart",
    "best_subsets",
    "expected_fit",
    "expected_selection",
    "open_table",
    "public_moments",
    "render",
    "subset_chart",
    "sure_independence_screening",
    "top_k_accuracy",
    "top_k_metrics",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    if home == "discreet":
        return importlib.import_module(f"discreet.{name}")
    try:
        return getattr(importlib.import_module(home), name)
    except ModuleNotFoundError as error:
        if error.name != "discreet_service":
            raise
        raise importlib.import_module("discreet.errors").NotInstalledError("The service", "discreet-service") from None


def __dir__() -> list[str]:
    return sorted(__all__)
