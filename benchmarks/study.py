"""How accurate the methods are, by simulation: `make study`, or `python -m benchmarks.study --tables 20` for a look."""

import argparse
import subprocess
import sys
import time

from rich.console import Console

STUDIES = {
    "right_models_product": "how often the product's methods find the right model",
    "right_models": "the same beside their kernels and variants",
    "recovery": "the same by where the target lies and by epsilon",
    "less_epsilon": "how often a threshold finds the right columns, beside what stood before and BIC",
    "public_tables": "the same with a public table of the columns, and with a wrong one",
    "auto_real": "what auto selects in real tables, beside BIC without privacy",
    "auto_regret": "how much auto leaves beside the best selection in hindsight",
    "median_splits": "what screening finds in microarrays without bounds, by median splits and in one box",
    "plan_calibration": "what a plan tells beside what is had",
    "moments_recovery": "the same of noisy moments by epsilon, pure, with delta and with declared moments",
    "pay_as_you_go": "what parts below a ceiling spend, beside one release at a fixed epsilon",
    "posterior_calibration": "whether the stated chance of a column is how often it matters",
    "coverage": "how often intervals of regressions hold the truth",
    "rare_columns": "the same of rare columns whose rows have large errors",
    "answers_coverage": "how often predictions, joint regions and marginal effects of released fits hold the truth",
    "after_selection": "how often intervals of selected columns hold the truth",
    "regression_accuracy": "how well regressions predict beside peers",
    "screening_accuracy": "how many of the best columns screening finds",
    "noise_named": "how often noise is called noise",
    "false_columns": "how often a table without an effect gives a column",
    "hybrid_accuracy": "the error of estimates on weighted public records",
}
"""Each is a module of its own, `python -m benchmarks.NAME`, and takes --tables."""


def main() -> None:
    """Run the studies one after another; each prints its own tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, help="simulated tables; default: what each study takes for its precision")
    parser.add_argument("--only", nargs="+", choices=STUDIES, default=list(STUDIES))
    given = parser.parse_args()
    words = [] if given.tables is None else ["--tables", str(given.tables)]
    console, start = Console(width=120), time.perf_counter()
    for place, name in enumerate(given.only, 1):
        done = f"{(time.perf_counter() - start) / 60:.0f} min so far"
        console.print(f"[{place}/{len(given.only)}] {name}: {STUDIES[name]} ({done})", markup=False)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *words], check=True)
    console.print(f"{len(given.only)} studies, {(time.perf_counter() - start) / 60:.0f} min")


if __name__ == "__main__":
    main()
