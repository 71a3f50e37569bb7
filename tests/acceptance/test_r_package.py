"""The R package, checked as R checks packages, and asked for the same as Python."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import ComputationFailedError
from discreet_service.app import create_app
from discreet_service.worker import job, queue
from tests.acceptance.conftest import METADATA, people
from tests.office import furnish, settings_of, write_table
from tests.programs import need
from tests.serving import serving

pytestmark = [pytest.mark.processes, pytest.mark.slow]

SOURCES = Path(__file__).parents[2] / "r"
COMMAND = Path(sys.executable).with_name("discreet")


def ran(*words, folder, **environment):
    """What a program printed, both ways."""
    variables = {**os.environ, "DISCREET": str(COMMAND), "_R_CHECK_FORCE_SUGGESTS_": "false", **environment}
    done = subprocess.run(
        [*map(str, words)], cwd=folder, env=variables, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the built package."""
    program, folder = need("R"), tmp_path_factory.mktemp("r")
    ran(program, "CMD", "build", SOURCES, folder=folder)
    return folder


@pytest.fixture(scope="module")
def checked(built):
    """The folder after R's check, which leaves the installed package."""
    [archive] = built.glob("discreet_*.tar.gz")
    ran(need("R"), "CMD", "check", "--no-manual", "--ignore-vignettes", archive, folder=built)
    return built


@pytest.fixture
def asked_in_r(checked, tmp_path):
    """Runs a script with the package as it was installed for the check, and returns the lines that it prints."""

    def run(script, **environment):
        path = tmp_path / "script.R"
        path.write_text("library(discreet)\n" + script)
        text = ran(
            shutil.which("Rscript"), path, folder=tmp_path, R_LIBS=str(checked / "discreet.Rcheck"), **environment
        )
        return text.split()

    return run


def test_the_check_finds_nothing_wrong(checked):
    """Neither error nor warning: help pages, examples, and tests against the command, none of which was skipped."""
    log = (checked / "discreet.Rcheck" / "00check.log").read_text()
    [status] = re.findall(r"^Status: (.*)$", log, re.MULTILINE)
    assert not re.search("ERROR|WARNING", status), log[-3000:]
    tests = (checked / "discreet.Rcheck" / "tests" / "testthat.Rout").read_text()
    [(failed, skipped, passed)] = re.findall(r"\[ FAIL (\d+) \| WARN \d+ \| SKIP (\d+) \| PASS (\d+) \]", tests)[-1:]
    assert (failed, skipped) == ("0", "0"), tests[-3000:]
    assert int(passed) > 200


def test_the_vignette_is_built(built):
    """With pictures and a table of coefficients: the command was there."""
    [archive] = built.glob("discreet_*.tar.gz")
    with tarfile.open(archive) as files:
        page = files.extractfile("discreet/inst/doc/health-survey.html").read().decode()
    assert page.count("data:image/png") == 3
    assert "Privacy: the noise" in page
    assert "0 of 3 is left" in page


def test_the_same_request_from_r_and_python_is_one_question_at_one_price(asked_in_r, place):
    """Of a file it is answered once, of a frame it is charged each time; the digests are the same."""
    metadata = dc.Metadata.from_value(METADATA)
    frame = people().to_pandas()
    frame.to_csv(place.folder / "frame.csv", index=False)
    selects = [
        dc.PCLS(epsilon=1.0, l1_radius=20.0).fit(dc.open_table(source, metadata), target="visits", ledger=place.ledger)
        for source in (place.data, frame)
    ]
    of_file, of_frame = [select.release_.provenance.request_sha256 for select in selects]
    assert place.spent() == 2
    printed = asked_in_r(f"""
        frame <- read.csv("{place.folder}/frame.csv", stringsAsFactors = TRUE)
        for (source in list("{place.data}", frame)) {{
          release <- dp_select(visits ~ ., source, "{place.metadata}", epsilon = 1, l1_radius = 20,
            candidates = NULL, ledger = "{place.ledger}", quiet = TRUE)
          cat(release$provenance$request_sha256, release$guarantee$epsilon, "\\n")
        }}
    """)
    assert printed == [of_file, "1", of_frame, "1"]
    assert place.spent() == 3


def test_a_service_is_asked_from_r(asked_in_r, tmp_path, monkeypatch):
    """Ask, approve, read: an analyst and a curator, the table where they cannot see it."""
    for part in ("private", "public"):
        (tmp_path / part).mkdir()
    write_table(tmp_path)
    app = create_app(settings_of(tmp_path, slot_s=1))
    monkeypatch.setattr(job.AtSlotEnd, "wait", lambda _: None)  # slots are not what is tested here
    with serving(app) as url:
        context = app.state.context
        keys = furnish(context)
        [request] = asked_in_r(
            """
            toy <- dp_remote("toy", purpose = "to learn", wait = FALSE)
            tryCatch(
              dp_select(y ~ a + b, toy, epsilon = 0.5),
              discreet_error_waiting = function(e) cat(e$request)
            )""",
            DISCREET_URL=url,
            DISCREET_KEY=keys["ann"],
        )
        asked_in_r(f'invisible(dp_remote_approve("{request}"))', DISCREET_URL=url, DISCREET_KEY=keys["cora"])
        taken = queue.take(context)
        with suppress(ComputationFailedError):
            job.run(context, taken.id)
        queue.settle(context, taken)
        printed = asked_in_r(
            f"""
            release <- dp_remote_release("{request}")
            cat(release$request$target, release$guarantee$epsilon, dp_remote_metadata("toy")$value$dataset)
            """,
            DISCREET_URL=url,
            DISCREET_KEY=keys["ann"],
        )
        assert printed[-3:] == ["y", "0.5", "toy"]
