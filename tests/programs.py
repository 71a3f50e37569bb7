"""Programs that some tests need and a bare Debian lacks; `make programs` installs them."""

import shutil
from pathlib import Path

R_PACKAGES = ("covr", "generics", "jsonlite", "knitr", "processx", "rmarkdown", "rsqlite", "testthat")
PACKAGES = {
    "chromium": "chromium",
    "initdb": "postgresql",
    "java": "default-jre-headless",
    "R": " ".join(("r-base-core", *(f"r-cran-{name}" for name in R_PACKAGES))),
}


def path_of(program: str) -> str | None:
    """Return where a program is; the newest of PostgreSQL's, which Debian keeps apart."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    return str(versions[-1]) if versions else shutil.which(program)


def need(program: str) -> str:
    """Return where a program is, or skip the test that needs it and say how to get it."""
    place = path_of(program)
    if place is None:
        import pytest  # not above: `make programs` runs this file before anything is installed

        pytest.skip(f"{program} is missing: `make programs`, or `apt-get install {PACKAGES[program]}`")
    return place


if __name__ == "__main__":
    print(*(package for program, package in PACKAGES.items() if path_of(program) is None))
