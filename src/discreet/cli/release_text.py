"""A release as a few lines of text: the answer first, then what it cost."""

import shlex
from typing import TYPE_CHECKING

from discreet import report as reports
from discreet.cli.console import number
from discreet.digits import plain
from discreet.report.chance_words import TELLS_NOTHING, sentences
from discreet.report.clip_words import clipped_in_brief
from discreet.report.request_facts import is_contradicted, public_moments
from discreet.report.words import count

if TYPE_CHECKING:
    from discreet.release import NoiseRecord, Release

CONTRADICTION = "A private look at the rows speaks against these public products: others were bought in their place."

_OTHER_HALF = "The other half gave these intervals, so they hold after the selection."

SCREENINGS = ("canonical_lipschitz", "one_shot", "peeling")
"""Mechanisms that do not choose among models."""


def summary(release: "Release") -> str:
    """Return a release in a few lines.

    The answer first, then what it cost.
    """
    lines = []
    if release.fit is None or release.method == "run":
        chosen = ", ".join(release.selected) or "no column"
        lines.append(f"Selected for {release.request['target']}: {chosen}")
        places, models = count(reports.n_candidates(release)), n_models(release.noise)
        lines.append(
            f"  one of {count(models)} models of {places} candidates" if models else f"  of {places} candidates"
        )
        lines += [f"  {text}" for text in sentences(release)]
        public_products = public_moments(release.request["parameters"])
        lines += [f"  products of the columns: {public_products}"] if public_products else []
        lines += [f"  {CONTRADICTION}"] if is_contradicted(release) else []
    if release.hybrid is not None:
        lines += estimated(release)
    if release.fit is not None:
        lines.append(reports.coefficient_table(release))
        clipped = None if release.intervals_tell_nothing else clipped_in_brief(release.fit)
        lines += [f"  {TELLS_NOTHING}"] if release.intervals_tell_nothing else []
        lines += [f"  {clipped}"] if clipped else []
        lines += _after_selection(release)
    lines += _posterior(release)
    lines += _parts(release)
    promise = release.guarantee
    if promise is None:
        lines.append("  NOT PRIVATE: no guarantee, for study. It must not leave.")
    else:
        lines.append(
            f"  epsilon {number(promise.epsilon)}, delta {number(promise.delta)}, {promise.neighboring}, "
            f"per {promise.unit}"
        )
    charge = release.provenance.ledger
    if release.provenance.derived_from is not None and not release.is_bought_in_parts:
        lines.append("  computed from an earlier release, without the rows: nothing further was spent")
    elif charge is not None:
        spent = f"{number(charge.epsilon_spent)} of {number(charge.epsilon_cap)}"
        if charge.rho_spent is not None and charge.rho_cap is not None:
            spent = f"rho {plain(charge.rho_spent, 3)} of {plain(charge.rho_cap, 3)}"
        dataset = release.provenance.dataset
        if release.is_bought_in_parts:  # the parts below it were drawn since, and the rest may be given back
            lines.append(
                f"  {spent} spent for {dataset} with the whole ceiling reserved (ledger entry {charge.entry}); "
                f"`discreet budget show {shlex.quote(dataset)}` tells what stays spent"
            )
        else:
            lines.append(f"  {spent} spent for {dataset} (ledger entry {charge.entry})")
    return "\n".join(lines)


def _after_selection(release: "Release") -> list[str]:
    """Whether the intervals of selected columns hold after the selection."""
    if not release.fit or not release.fit.has_intervals:
        return []
    if reports.is_by_half(release):
        return [f"  Half of the units selected the columns. {_OTHER_HALF}"]
    if reports.is_by_fission(release):
        anew = release.provenance.derived_from is not None
        columns = ", ".join(release.selected) or "no column"
        if anew:
            return [f"  Selected again, by half of the information in the moments: {columns}", f"  {_OTHER_HALF}"]
        return [f"  Half of the information in the moments selected the columns. {_OTHER_HALF}"]
    if reports.is_of_selection(release):
        return [
            "  The same rows selected the columns, so the level of these intervals is not guaranteed.",
            "  `discreet run` and noisy moments give intervals that hold after a selection.",
        ]
    return []


def _parts(release: "Release") -> list[str]:
    """What was spent part by part."""
    from discreet.report.posteriors import parts  # where it is needed alone

    return [f"  {text}" for text in parts(release)]


def _posterior(release: "Release") -> list[str]:
    """How sure columns and models are, under each prior."""
    from discreet.report.posteriors import sure  # where it is needed alone

    posteriors = sure(release)
    if posteriors is None:
        return []
    widest = max(len(row[0]) for row in posteriors.columns)
    head = f"  {'chance that it matters':<{widest}}"
    rows = [
        f"  {name:<{len(head) - 2}}" + "".join(f"  {chance:>8}" for chance in chances)
        for name, *chances in posteriors.columns
    ]
    best = " and ".join(
        f"{chance} ({name})" for chance, name in zip(posteriors.best_chances, posteriors.names, strict=True)
    )
    error = f"; by a sampler, standard error {posteriors.sampling_error} at most" if posteriors.sampling_error else ""
    priors = "; ".join(
        f"{name}: {words} expected" for name, words in zip(posteriors.names, posteriors.priors, strict=True)
    )
    return [
        head + "".join(f"  {name:>8}" for name in posteriors.names),
        *rows,
        f"  likeliest model: {posteriors.best}, with a chance of {best}{error}",
        f"  {priors}",
    ]


def estimated(release: "Release") -> list[str]:
    """Return what an estimate is and what it rests on, in a few lines.

    Before its coefficients.
    """
    request, hybrid, fit = release.request, release.hybrid, release.fit
    title = f"Estimate for {request['target']}, {fit.family} contrast" if fit is not None else "Estimate"
    if hybrid is None or hybrid.points is None:
        cells = request["parameters"].get("n_cells")
        return [title, f"  from noisy counts of {count(int(cells))} cells" if cells else "  from noisy counts of cells"]
    points, lines = hybrid.points, [title]
    chosen = [candidate.name for candidate in hybrid.candidates if candidate.chosen]
    if chosen:
        lines.append(f"  chosen: {chosen[0]}, one of {count(len(hybrid.candidates))} estimates")
    weighted = sum(weight > 0 for weight in points.weights)
    places = f"{count(points.n_points)} distinct public points ({count(points.n_records)} records)"
    lines.append(f"  {count(weighted)} of {places} carry weights" if weighted else f"  no weights on the {places}")
    return lines


def n_models(noise: "NoiseRecord") -> int | None:
    """Return among how many models or estimates a mechanism chooses.

    None for a mechanism that does not choose among them.
    """
    return None if noise.mechanism in SCREENINGS else noise.n_candidates
