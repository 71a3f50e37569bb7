"""Faults that the selftest must see: papers as printed, bounds that are forgotten, and noise that is a tenth short.

Each is one expression of the product's own code. The suite puts each of them in, and runs the check that is meant for
it: one that is not flagged makes the selftest blind, and is a failure like any other.
"""

from typing import Any

from discreet.selftest.breaking import Fault


def _short(subject: str, where: str, sound: str, broken: str, check: str, *at: Any) -> Fault:
    return Fault(f"noise / 1.1: {subject}", where, sound, broken, check, *at)


BOUNDS = (
    *(
        Fault(
            f"all rows of a unit count, of few declared ({check})",
            "kernels.rows.contribution_bound:_crowded",
            "sizes > most",
            "sizes > 1000 * most",
            check,
        )
        for check in (
            "least_squares",
            "profile",
            "screening",
            "votes",
            "moments",
            "labels",
            "public_records",
            "histogram",
        )
    ),
    Fault(
        "no contribution bound at all",
        "data.engine:Table._pass",
        "None if unit_id is None else",
        "None if True else",
        "least_squares",
    ),
    Fault(
        "rows per unit ignored: least squares",
        "methods.subset_selection.calibration:Sensitivity.of",
        "omega * factor * metadata.rows_per_unit, largest * metadata.rows_per_unit",
        "omega * factor, largest",
        "least_squares",
    ),
    Fault(
        "rows per unit ignored: likelihood",
        "methods.subset_selection.calibration:Sensitivity.of",
        "omega * factor * metadata.rows_per_unit, largest * metadata.rows_per_unit",
        "omega * factor, largest",
        "profile",
    ),
    Fault(
        "rows per unit ignored: screening",
        "methods.screening.sis:PreparedScreening._choice",
        "n_rows_changed * metadata.rows_per_unit",
        "n_rows_changed",
        "screening",
    ),
    Fault(
        "rows per unit ignored: votes",
        "methods.screening.two_stage:PreparedVotes.__init__",
        "rows, epsilon = metadata.rows_per_unit,",
        "rows, epsilon = 1,",
        "votes",
    ),
    Fault(
        "rows per unit ignored: moments",
        "methods.moments.noisy_sums:NoisySums.estimates",
        "c, unit = self.design.metadata.rows_per_unit,",
        "c, unit = 1,",
        "moments",
    ),
    Fault(
        "rows per unit ignored: passes",
        "methods.regression.generalized_linear:PreparedGlm._problem",
        "/ metadata.rows_per_unit * (1.0 - 1e-12)",
        "* (1.0 - 1e-12)",
        "labels",
    ),
    Fault(
        "rows per unit ignored: public records",
        "methods.public_records.measures:Measure.sensitivity",
        "n_rows_changed * self.metadata.rows_per_unit",
        "n_rows_changed",
        "public_records",
    ),
    Fault(
        "rows per unit ignored: quantiles",
        "mechanisms.quantile:rank_sensitivity",
        "2 * rows_per_unit * change",
        "2 * change",
        "tuning",
    ),
    Fault(
        "rows per unit ignored: the row count",
        "methods.subset_selection.tuning:Tuning._run",
        "self.metadata.rows_per_unit / self",
        "1 / self",
        "tuning",
    ),
)
"""Of what one person can move."""

PRINTED = (
    Fault(
        "class sizes as Swope et al. print them",
        "mechanisms.lipschitz_race:count",
        "math.comb(stop - head - 2, k - head) - math.comb(start - head - 2, k - head)",
        "math.comb(stop - head - 1, k - head) - math.comb(start - head - 1, k - head)",
        "top_k",
    ),
    Fault(
        "a replaced row charged as an added one: least squares",
        "methods.subset_selection.calibration:Sensitivity.of",
        "factor = 2 if",
        "factor = 1 if",
        "least_squares",
        "replace_one",
    ),
    Fault(
        "a replaced row charged as an added one: correlations",
        "methods.screening.sis:PreparedScreening._choice",
        "n_rows_changed = 2 if",
        "n_rows_changed = 1 if",
        "screening",
        "replace_one",
    ),
    Fault(
        "ties that count at every nearest public point, as Wang et al. have them",
        "methods.public_records.measures:Counts.draw",
        "return np.bincount(nearest.nearest(cells), minlength=size).astype(np.int64)",
        "return (lambda far: (far == far.min(axis=1, keepdims=True)).sum(axis=0))"
        "(((cells[:, None, :].astype(float) - self.cells[None]) ** 2).sum(axis=2)).astype(np.int64)",
        "public_records",
        "replace_one",
    ),
    Fault(
        "the sign of the likelihood as Lei et al. print it",
        "methods.subset_selection.pcpl:_Profile.scored",
        "choice, self.log_likelihoods",
        "choice, -self.log_likelihoods",
        "profile",
    ),
    Fault(
        "the likelihood's bound without its tail",
        "methods.subset_selection.pcpl:_Profile.bound",
        "- scale * step * tail * UP - step",
        "- scale * step * 0",
        "profile",
    ),
    Fault(
        "eps^2 / 8 for every noise",
        "accounting.totals:_pure_cost",
        'epsilon**2 / 8) if event.noise == "gumbel" else rho',
        "epsilon**2 / 8)",
        "accounting",
    ),
    Fault(
        "explored zones forgotten by points",
        "mechanisms.subset_race:SubsetRace._is_explored",
        "return True",
        "return False",
        "subset_search",
    ),
    Fault(
        "bounds taken from the rows",
        "methods.subset_selection.tuning:Tuning._private_clip",
        "float(CLIPS[noisy_quantile(counts, self.y_quantile, *law)])",
        "float(CLIPS[(noisy_quantile(counts, self.y_quantile, *law), int(np.flatnonzero(counts)[-1]))[1]])",
        "tuning",
    ),
)
"""Of papers as printed, and of proofs whose conditions are dropped."""

HALVED = (
    Fault("half the noise: Laplace sums", "mechanisms.additive:discrete_laplace", "_rounded_up(scale)",
          "_rounded_up(scale) / 2", "additive"),
    Fault("half the noise: Gaussian sums", "mechanisms.additive:discrete_gaussian", "_rounded_up(scale)",
          "_rounded_up(scale) / 2", "additive"),
    Fault("half the noise: selections", "mechanisms.selection:noisy_min_of_blocks", "slope = exact_epsilon(epsilon)",
          "slope = 2 * exact_epsilon(epsilon)", "selection"),
    Fault("half the noise: the lazy search", "mechanisms.subset_search:_by_race", "slope = exact_epsilon(epsilon)",
          "slope = 2 * exact_epsilon(epsilon)", "subset_search", "-", 4.0),
    Fault("noise / 1.25: selections", "mechanisms.selection:noisy_min_of_blocks", "slope = exact_epsilon(epsilon)",
          "slope = 5 * exact_epsilon(epsilon) / 4", "selection"),
)  # fmt: skip
"""As the builds that are broken on purpose have it."""

MECHANISMS = (
    _short("selections", "mechanisms.selection:noisy_min_of_blocks", "slope = exact_epsilon(epsilon)",
           "slope = 11 * exact_epsilon(epsilon) / 10", "selection"),
    _short("permute-and-flip", "mechanisms.selection:minus_log_ends", "return smaller, larger",
           "return smaller / 1.1, larger / 1.1", "selection"),
    _short("exponential mechanism", "mechanisms.selection:_gumbel_floats", "return -np.log(larger), -np.log(smaller)",
           "return -np.log(larger) / 1.1, -np.log(smaller) / 1.1", "selection"),
    _short("Laplace selection", "mechanisms.selection:_laplace_floats", "np.log((tail + 1.0) * 2.0**-63)",
           "np.log((tail + 1.0) * 2.0**-63) / 1.1; tail = tail ** (1 / 1.1) * 2.0 ** (63 - 63 / 1.1)", "selection"),
    _short("leaders", "mechanisms.leaders:noisy_leaders", "float(slope)", "1.1 * float(slope)", "top_k"),
    _short("one-shot", "mechanisms.top_k:one_shot", "exact_epsilon(epsilon) / (2 *",
           "11 * exact_epsilon(epsilon) / (20 *", "top_k"),
    _short("peeling", "mechanisms.top_k:peeling", "exact_epsilon(epsilon) / k",
           "11 * exact_epsilon(epsilon) / (10 * k)", "top_k"),
    _short("canonical Lipschitz", "mechanisms.top_k:canonical_lipschitz", "exact_epsilon(epsilon) / (2 *",
           "11 * exact_epsilon(epsilon) / (20 *", "top_k"),
    _short("canonical Lipschitz, compiled", "mechanisms.top_k:_compiled_race", "float(contest.slope)",
           "1.1 * float(contest.slope)", "top_k"),
    _short("threshold", "mechanisms.threshold:above_threshold", "(2 * size)", "(20 * size / 11)", "threshold"),
    _short("Laplace sums", "mechanisms.additive:discrete_laplace", "_rounded_up(scale)", "_rounded_up(scale) / 1.1",
           "additive"),
    _short("Gaussian sums", "mechanisms.additive:discrete_gaussian", "_rounded_up(scale)", "_rounded_up(scale) / 1.1",
           "additive"),
    _short("cube", "mechanisms.cube:cube_noise", 'exact(scale, "scale")', 'exact(scale, "scale") * 10 / 11', "cube"),
    Fault("every radius accepted: cube", "mechanisms.cube:_radius", "if _happens(numerator, denominator, rng):",
          "if numerator and denominator:", "cube"),
    _short("ellipsoid", "mechanisms.ellipsoid:_rounded", "Decimal(scale.numerator)",
           "Decimal(scale.numerator * 10) / 11", "ellipsoid"),
    Fault("one exponential number too few: ellipsoid", "mechanisms.ellipsoid:_time", "for uniform in energies:",
          "for uniform in energies[1:]:", "ellipsoid"),
    _short("spherical", "mechanisms.spherical:spherical_laplace", ".sum() / rate", ".sum() / rate / 1.1", "spherical"),
    _short("quantile", "mechanisms.quantile:rank_sensitivity", "2 * rows_per_unit * change",
           "20 * rows_per_unit * change / 11", "quantile"),
    _short("generalized exponential", "mechanisms.generalized_exponential:noisy_min_scaled", "gamma = 2 +",
           "gamma = Fraction(20, 11) +", "scaled_selection"),
    _short("subset search, listed", "mechanisms.subset_search:_by_list", "blocks(), range_sensitivity, epsilon",
           "blocks(), range_sensitivity * 10 / 11, epsilon", "subset_search", "-", 4.0),
    _short("subset search, lazy", "mechanisms.subset_search:_by_race", "slope = exact_epsilon(epsilon)",
           "slope = 11 * exact_epsilon(epsilon) / 10", "subset_search", "-", 4.0),
)  # fmt: skip

METHODS = (
    _short("PCLS", "methods.subset_selection.pcls:PreparedLeastSquares.run",
           "law = (calibration.gamma + calibration.inflation,",
           "law = ((calibration.gamma + calibration.inflation) * 10 / 11,", "least_squares"),
    _short("PCLS, calibration", "methods.subset_selection.calibration:Sensitivity.of", "factor = 2 if",
           "factor = Fraction(20, 11) if",
           "least_squares", "replace_one"),
    _short("PCPL", "methods.subset_selection.pcpl:PreparedProfileLikelihood.run",
           "law = (choice.gamma + choice.inflation,",
           "law = ((choice.gamma + choice.inflation) * 10 / 11,", "profile"),
    _short("PCPL, its sum of squares", "methods.subset_selection.sum_of_squares:squares_scale", "/ (epsilon * step)",
           "/ (epsilon * step) * 10 / 11", "profile"),
    _short("DPSIS", "methods.screening.sis:PreparedScreening._choice", "rows_per_unit * GRID**2",
           "rows_per_unit * GRID**2 * Fraction(10, 11)", "screening"),
    _short("DPSIS, its target's mean", "methods.screening.sis:Center.estimate",
           "scale = self.sensitivity / self.epsilon", "scale = self.sensitivity / self.epsilon * 10 / 11", "screening"),
    _short("screening, its choice", "methods.screening.top_k_choice:TopK.draw", "law = (self.k, self.epsilon,",
           "law = (self.k, self.epsilon * 11 / 10,", "screening"),
    _short("two-stage votes", "methods.screening.two_stage:PreparedVotes.__init__", "epsilon, rows, 1, n_blocks)",
           "epsilon, Fraction(10 * rows, 11), 1, n_blocks)", "votes"),
    _short("moments and linear regression", "methods.base.noise_budget:drawn_together", "one.scale(budget)",
           "one.scale(budget) * 10 / 11", "moments"),
    _short("moments, a pure epsilon", "methods.base.noise_budget:PrivateEstimate.scale", "/ float(budget.epsilon or 1)",
           "/ float(budget.epsilon or 1) / 1.1", "moments"),
    _short("logistic and Poisson, passes", "methods.regression.generalized_linear:PreparedGlm._noisy",
           "_with_noise(exact[at], scale, rng)", "_with_noise(exact[at], scale * 10 / 11, rng)", "labels"),
    _short("Poisson, its bound of counts", "methods.regression.generalized_linear:PreparedGlm._noisy",
           "_with_noise(exact, request.sd, rng)", "_with_noise(exact, request.sd / 6, rng)", "labels"),
    _short("objective perturbation", "methods.regression.objective_perturbation:PreparedPerturbation.run",
           "spherical_laplace(p, self.chosen.beta, rng)", "spherical_laplace(p, 1.1 * self.chosen.beta, rng)",
           "logistic"),
    _short("objective perturbation, its output",
           "methods.regression.objective_perturbation:PreparedPerturbation._rounded",
           "self.output_scale, rng", "self.output_scale * 10 / 11, rng", "poisson"),
    _short("objective perturbation, its information",
           "methods.regression.objective_perturbation:PreparedPerturbation._information",
           "self.information_scale, rng", "self.information_scale * 10 / 11, rng", "logistic"),
    _short("hybrid, counts", "methods.public_records.measures:Counts.draw", "self.scale, rng",
           "self.scale * 10 / 11, rng",
           "public_records"),
    _short("hybrid, margins", "methods.public_records.measures:Margins.draw", "self.scale, rng",
           "self.scale * 10 / 11, rng",
           "public_records"),
    _short("public subset, its choice", "methods.public_records.public_subset:PreparedSubset.run",
           "self.range, self.choice_epsilon,",
           "Fraction(10 * self.range, 11), self.choice_epsilon,", "public_records"),
    _short("histogram", "methods.public_records.measures:Counts.draw", "self.scale, rng", "self.scale * 10 / 11, rng",
           "histogram"),
    _short("tuning, the row count", "methods.subset_selection.tuning:Tuning._run", 'self.budget["n_rows"]\n',
           'self.budget["n_rows"] * 10 / 11\n', "tuning"),
    _short("tuning, the clip of the target", "methods.subset_selection.tuning:Tuning._private_clip",
           'self.budget["y_bound"]',
           'self.budget["y_bound"] * 11 / 10', "tuning"),
    _short("tuning, the l1 bound", "methods.subset_selection.tuning:Tuning._private_radius", "gamma = largest.range +",
           "gamma = largest.range * 10 / 11 +", "tuning"),
    _short("tuning, the l1 bound on a wide grid", "methods.subset_selection.tuning:Tuning._private_radius",
           "scores, sizes, epsilon, rng", "scores, sizes, epsilon * 11 / 10, rng", "tuning"),
    _short("tuning, the residual variance", "methods.subset_selection.tuning:Tuning._private_variance",
           'self.budget["sigma2"], rng', 'self.budget["sigma2"] * 11 / 10, rng', "tuning"),
    _short("private bounds", "methods.base.private_bounds:estimate_bounds", "metadata.rows_per_unit, epsilon,",
           "metadata.rows_per_unit, epsilon * 11 / 10,", "tuning"),
    _short("a selection and a fit", "methods.base.noise_budget:drawn_together", "one.scale(budget)",
           "one.scale(budget) * 10 / 11", "pipelines"),
)  # fmt: skip

FAULTS = (*BOUNDS, *PRINTED, *HALVED, *MECHANISMS, *METHODS)
"""All of them."""
