"""A release: the outcome of one private computation, the only thing that leaves."""

from discreet.release.chances import (
    AveragedCoefficient,
    ChanceRecord,
    ColumnChance,
    ModelChance,
    PosteriorRecord,
    PriorPosterior,
    Supposition,
)
from discreet.release.fits import ClippedRecord, CoefficientRecord, Family, FitRecord, JointRecord
from discreet.release.guarantee import ClaimRecord, GuaranteeRecord, NoiseRecord, PublicColumn, StepRecord
from discreet.release.hybrids import CandidateRecord, HybridRecord, PointsRecord, TwinRecord
from discreet.release.moments import FissionRecord, KnownRecord, LevelRecord, MomentsRecord, SizeRecord, WhitenedRecord
from discreet.release.parts import PartRecord, PooledRecord
from discreet.release.provenance import READ, STATED, UNSTATED, LedgerRecord, Provenance, RowsOrigin
from discreet.release.record import LARGEST, Symmetric
from discreet.release.release import SCHEMA, Release, canonical_sha256
from discreet.release.scores import ReliabilityRecord, ScoreRecord, SeparationRecord

__all__ = [
    "LARGEST",
    "READ",
    "SCHEMA",
    "STATED",
    "UNSTATED",
    "AveragedCoefficient",
    "CandidateRecord",
    "ChanceRecord",
    "ClaimRecord",
    "ClippedRecord",
    "CoefficientRecord",
    "ColumnChance",
    "Family",
    "FissionRecord",
    "FitRecord",
    "GuaranteeRecord",
    "HybridRecord",
    "JointRecord",
    "KnownRecord",
    "LedgerRecord",
    "LevelRecord",
    "ModelChance",
    "MomentsRecord",
    "NoiseRecord",
    "PartRecord",
    "PointsRecord",
    "PooledRecord",
    "PosteriorRecord",
    "PriorPosterior",
    "Provenance",
    "PublicColumn",
    "Release",
    "ReliabilityRecord",
    "RowsOrigin",
    "ScoreRecord",
    "SeparationRecord",
    "SizeRecord",
    "StepRecord",
    "Supposition",
    "Symmetric",
    "TwinRecord",
    "WhitenedRecord",
    "canonical_sha256",
]
