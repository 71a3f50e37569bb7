"""The noisy score of a logistic or Poisson regression, which its intervals are made of."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from discreet.release.record import Entry, Positive, Record, Symmetric, Variance, Vector


def _is_triangle(rows: Symmetric, size: int) -> bool:
    return [len(row) for row in rows] == [*range(size, 0, -1)]


def _is_square(rows: tuple[Vector, ...], size: int) -> bool:
    return len(rows) == size and all(len(row) == size for row in rows)


class ReliabilityRecord(Record):
    """How well a score's covariance by units is known; `discreet.kernels.glm.sandwich` tells the symbols."""

    total: Symmetric = Field(description="covariance of the score, its noise included")
    basis: tuple[Vector, ...] = Field(description="columns in which errors are told")
    sizes: Vector = Field(description="of the family's own variance in the basis")
    errors: Symmetric = Field(description="variances of the entries' errors in the basis")
    factor_sd: Variance = Field(description="error of the multiple of the family's own variance")
    n_units: Positive


class SeparationRecord(Record):
    """Directions along which nothing tells that coefficients end, per half range, in the order of the coefficients.

    A combination of coefficients that rises along one has no upper end, one that falls no lower end.
    """

    separating: tuple[Vector, ...] = Field(
        default=(), description="rows of one value may all have one response: a level, an end of a column, or all rows"
    )
    undetermined: tuple[Vector, ...] = Field(
        default=(), description="orthonormal; rows may not vary there: no combination with a part there has any end"
    )


class ScoreRecord(Record):
    """The noisy score of a logistic or Poisson regression, and the variance of its noise, as intervals ask for it.

    Per half range of each column, in the order of the coefficients; `discreet.kernels.glm.score` tells the symbols.
    """

    coef_bound: Annotated[float, Field(gt=0, le=1e6)] = Field(description="largest absolute coefficient")
    middles: Vector = Field(description="own units: value = middle + half_width x scaled value")
    half_widths: tuple[Positive, ...]
    offset_middle: Entry = Field(default=0.0, description="where an offset is zero on its scale")
    response_low: float = Field(allow_inf_nan=False, description="public range of the response")
    response_high: Positive
    is_smooth: bool = Field(default=False, description="Poisson: whether the mean is that of clipped counts")
    coef: Vector = Field(description="where the score is zero, or nearly so")
    told: Vector = Field(default=(), description="the estimate, shrunk; absent where it is `coef`")
    constant: Vector = Field(description="a: the score at the point")
    point: Vector = Field(description="t: where the score was taken")
    n_rows: Positive = Field(description="of the curve")
    center: Vector = Field(description="of the curve: means of the columns")
    spread: Symmetric = Field(description="of the curve: covariance of the columns")
    fixed: Vector = Field(default=(), description="of the curve: half the range of an offset, its last column")
    rest: Symmetric = Field(description="R: the slope at the point less that of the curve")
    information: Symmetric = Field(description="of the rows at the point")
    sampling: Symmetric = Field(description="J: variance of the score by sampling")
    noise: Symmetric = Field(description="variance of the score's noise at the point")
    slope_noise: Symmetric = Field(description="variances of what is not known of R, in the basis")
    slope_basis: tuple[Vector, ...] = Field(description="orthonormal columns")
    slope_factor: Entry = Field(description="the noise of R meets factor x d + offset")
    slope_offset: Vector
    mismatch: Variance = Field(description="tau: relative error of the curve")
    curvature: Variance = Field(default=0.0, description="kappa: error of how the curve bends, in any direction")
    law: Literal["gaussian", "spherical_laplace"] = Field(default="gaussian", description="of the noise")
    is_told: bool = Field(default=True, description="False where noise hides so much that nothing is told")
    separation: SeparationRecord = Field(default=SeparationRecord(), description="ends that cannot be told")
    reliability: ReliabilityRecord | None = Field(default=None, description="where units told the sampling variance")

    @model_validator(mode="after")
    def _of_one_shape(self) -> "ScoreRecord":
        p, known, of_curve = len(self.coef), self.reliability, len(self.coef) + len(self.fixed)
        vectors = [self.middles, self.half_widths, self.constant, self.point, self.slope_offset]
        vectors += [self.told] if self.told else []
        vectors += [*self.separation.separating, *self.separation.undetermined]
        triangles, squares = [self.rest, self.information, self.sampling, self.noise], [self.slope_basis]
        triangles.append(self.slope_noise)
        if known is not None:
            vectors, triangles = [*vectors, known.sizes], [*triangles, known.total, known.errors]
            squares.append(known.basis)
        shaped = len(self.center) == of_curve and _is_triangle(self.spread, of_curve)
        shaped = shaped and all(len(vector) == p for vector in vectors)
        shaped = shaped and all(_is_triangle(rows, p) for rows in triangles)
        if not (p and shaped and all(_is_square(rows, p) for rows in squares)):
            raise ValueError("all parts of a score must be of one size")
        if not self.response_low < self.response_high:
            raise ValueError("the response must have a range")
        return self
