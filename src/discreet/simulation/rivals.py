"""The selections that a plan compares, each with its tuning, from public facts alone."""

from dataclasses import dataclass
from typing import Any

from discreet.data.metadata import Metadata, half_width
from discreet.digits import plain
from discreet.methods.base.method import Method
from discreet.methods.registry import method_of
from discreet.parameters.public_moments import PublicMoments
from discreet.report.words import short

CLIPS = (1.0, 0.5, 0.25, 0.125)
"""Public clips of the target, in half ranges; R is as large."""

RADII = (0.75, 0.375, 0.1875)
"""R in half ranges of the target, beside a private clip."""

PRIVATE_CLIP = {"y_bound": "private", "y_quantile": 0.5, "shares": {"y_bound": 0.05}}

SCREENED = (1, 2, 3, 5)
"""Columns that a screening selects."""

READINGS = ("auto", "aic", "bic")
"""Penalties under which one release of moments is read."""

FEW = 8
"""Up to so many candidates all tunings of a search are tried, as it is quick."""

MANY = 20
"""From so many numbers a row on, decorrelated scores with public columns are not tried."""


@dataclass(frozen=True)
class Rival:
    """A method with its tuning, without its epsilon.

    Parameters
    ----------
    name : str
        What tables call it.
    method : str
        On the command line.
    parameters : dict
        As the method takes them.
    """

    name: str
    method: str
    parameters: dict[str, Any]

    def at(self, epsilon: float) -> Method:
        """Return the method at an epsilon.

        Parameters
        ----------
        epsilon : float
            In nats.

        Returns
        -------
        Method
            Its parameters are checked.
        """
        return method_of(self.method, epsilon=epsilon, **self.parameters)


def rivals(
    metadata: Metadata,
    target: str,
    candidates: tuple[str, ...],
    delta: float,
    n_rows: int,
    public_moments: PublicMoments | None = None,
) -> list[Rival]:
    """Return the selections that are worth a comparison.

    Parameters
    ----------
    metadata : Metadata
        What is public about the table.
    target : str
        Numeric.
    candidates : tuple of str
        Columns that may be selected.
    delta : float
        0 leaves out what needs one.
    n_rows : int
        Public, or a guess where the number is private.
    public_moments : PublicMoments, optional
        Of the columns, where there is a public table.

    Returns
    -------
    list of Rival
        In no order of merit.
    """
    half = half_width(metadata.declared(target))[1]  # type: ignore[arg-type]
    guess = {} if metadata.n_rows is not None else {"n0": n_rows}
    few = len(candidates) <= FEW
    compared = [
        Rival(f"pcls, y_bound {short(clip * half)}", "pcls", {"y_bound": clip * half, "l1_radius": clip * half})
        for clip in (CLIPS if few else CLIPS[1:3])
    ]
    compared += [
        Rival(f"pcls, y_bound private, l1_radius {short(radius)}", "pcls", {**PRIVATE_CLIP, "l1_radius": radius})
        for radius in (part * half for part in (RADII if few else RADII[1:2]))
    ]
    compared += _moments(guess, delta)
    compared.append(Rival("decorrelated", "decorrelated", guess))
    if public_moments is not None:
        if sum(len(getattr(metadata.declared(name), "levels", None) or (1, 1)) - 1 for name in candidates) < MANY:
            compared.append(
                Rival("decorrelated, public columns", "decorrelated", {**guess, "public_moments": public_moments})
            )
        compared += _with_public_columns(guess, delta, public_moments)
    if all(metadata.is_number(name) for name in candidates):
        compared += _screenings(guess, len(candidates))
    return compared


def _moments(guess: dict[str, int], delta: float) -> list[Rival]:
    """Noisy moments, pure and with a delta, each read under several penalties."""
    compared = []
    for spent in (0.0, delta) if delta > 0.0 else (0.0,):
        name = "moments, y_bound private" + (f", delta {plain(spent)}" if spent else "")
        for penalty in READINGS:
            usual = penalty == "auto"
            parameters = {"y_bound": "private", **guess, **({"delta": spent} if spent else {})}
            compared.append(
                Rival(
                    name if usual else f"{name}, read by {penalty.upper()}",
                    "moments",
                    parameters if usual else {**parameters, "model_penalty": penalty},
                )
            )
    return compared


def _with_public_columns(guess: dict[str, int], delta: float, public_moments: PublicMoments) -> list[Rival]:
    """Noisy moments of which the columns' own are public."""
    compared = []
    for spent in (0.0, delta) if delta > 0.0 else (0.0,):
        name = "moments, public columns, y_bound private" + (f", delta {plain(spent)}" if spent else "")
        parameters = {
            "y_bound": "private",
            "public_moments": public_moments,
            **guess,
            **({"delta": spent} if spent else {}),
        }
        compared.append(Rival(name, "moments", parameters))
    return compared


def _screenings(guess: dict[str, int], n_candidates: int) -> list[Rival]:
    """The best columns one by one: a number of them, or all above a threshold."""
    compared = []
    for k in SCREENED:
        if k < n_candidates:
            parameters = {"n_features_to_select": k, **guess}
            name = f"sis, {k} column{'' if k == 1 else 's'}"
            compared += [
                Rival(name, "sis", parameters),
                Rival(f"{name}, products", "sis", {**parameters, "association": "products"}),
            ]
    unnumbered: dict[str, Any] = {"n_features_to_select": "auto", **guess}
    # A lower threshold would be called noise.
    return [
        *compared,
        Rival("sis, above a threshold", "sis", unnumbered),
        Rival("sis, above a threshold, products", "sis", {**unnumbered, "association": "products"}),
    ]
