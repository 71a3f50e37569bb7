"""Releases made by hand, one for each kind that a report must get right."""

from typing import Any

import pytest
from report_fits import FITS
from report_hybrids import HYBRIDS
from report_releases import SAMPLES, make

from discreet.release import Release

ALL = SAMPLES | FITS | HYBRIDS


@pytest.fixture(params=ALL, scope="session")
def release(request: pytest.FixtureRequest) -> Release:
    """Each sample in turn."""
    return ALL[request.param]


@pytest.fixture(scope="session")
def samples() -> dict[str, Release]:
    """All samples by name."""
    return ALL


@pytest.fixture(scope="session")
def build() -> Any:
    """The maker of samples."""
    return make
