"""The claims that ship: what they rest on, who has read them, and that releases and reports say it."""

import numpy as np
import pytest

from discreet import claims
from discreet.claims import Claim, head, of_function, readers, resting_on, shipped
from discreet.data.engines.frame import FrameTable
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from discreet.release import ClaimRecord, Release
from discreet.report.rendering import render
from discreet.workflow.request import answer
from tests.privacy.pairs import pinned, table_of
from tests.unit.report.report_releases import make


def test_every_claim_ships_with_its_head():
    """By name, with a file that is there and a status; what it rests on ships too."""
    assert {"pcls", "selection", "engine", "compose", "ledger"} <= set(shipped())
    for claim in shipped().values():
        assert (claims.ROOT / claim.path).is_file()
        assert claim.status in ("contrib", "proved")
        assert set(claim.rests_on) <= set(shipped())


def test_what_a_claim_rests_on_all_the_way_down():
    """Through others, in circles too, and what is no claim is passed over."""
    paths = [claim.path for claim in resting_on(["methods/subset_selection/pcls.privacy.md", "none"])]
    assert paths == sorted(set(paths))
    assert {"mechanisms/selection.privacy.md", "data/engine.privacy.md", "data/engines/frame.privacy.md"} <= set(paths)
    assert "methods/screening/sis.privacy.md" not in paths
    assert resting_on(["none"]) == ()


def test_a_function_has_its_claim():
    """By its full name."""
    assert (
        of_function("discreet.methods.subset_selection.pcls.PreparedLeastSquares.run")[0].path
        == "methods/subset_selection/pcls.privacy.md"
    )
    assert of_function("discreet.methods.subset_selection.pcls.other") == ()


def test_readers_are_named_without_dates():
    """Nobody is no reader."""
    assert readers({"read_by": "nobody"}) == ()
    assert readers({"read_by": "A B 2026-01-01, C 2026-01-02"}) == ("A B", "C")
    assert head("no head") == {}


def released(monkeypatch=None):
    """A release of a selection on a frame."""
    table = table_of(np.array(pinned(1.0, 1.0, 2, (8, 8))), ["x1", "x2"], "y", "replace_one", 1.0)
    assert isinstance(table, FrameTable)
    return answer(PenalizedLeastSquares(epsilon=1.0), table, "y").release


def test_a_release_names_its_proofs_and_their_readers(monkeypatch):
    """All the way down, as of the claims that ship; a reader who is entered there is named."""
    release = released()
    paths = [record.claim for record in release.claims]
    for path in (
        "methods/subset_selection/pcls",
        "mechanisms/selection",
        "data/design",
        "accounting/compose",
        "workflow/request",
    ):
        assert f"{path}.privacy.md" in paths
    assert "ledger/ledger.privacy.md" not in paths  # nothing was charged
    assert all(record.read_by == () for record in release.claims)
    assert Release.from_json(release.to_json()) == release
    read = {name: Claim(c.path, c.functions, "proved", ("A B",), c.rests_on) for name, c in shipped().items()}
    monkeypatch.setattr(claims, "shipped", lambda: read)
    assert {(record.status, record.read_by) for record in released().claims} == {("proved", ("A B",))}


READ = ClaimRecord(claim="methods/subset_selection/pcls.privacy.md", status="proved", read_by=("A B", "C D"))
UNREAD = ClaimRecord(claim="mechanisms/selection.privacy.md", status="contrib", read_by=())
SENTENCES = {
    (UNREAD,): "1 written proof of what the code does. It has not been checked against the code by anybody other",
    (UNREAD, UNREAD): "2 written proofs of what the code does. None of them has been checked against the code by any",
    (READ, UNREAD): "1 of them has not been checked against the code by anybody other than the author.",
    (READ,): "Each has been checked against the code by somebody other than its author.",
}


@pytest.mark.slow
@pytest.mark.parametrize("format", ["text", "markdown", "html"])
@pytest.mark.parametrize("records", SENTENCES, ids=len)
def test_reports_say_who_has_read_the_proofs(format, records):
    """A board gets a sentence, an analyst the list as well, and a release without the field neither."""
    release = make().model_copy(update={"claims": records})
    board, analyst = (" ".join(render(release, format, audience).split()) for audience in ("board", "analyst"))
    assert SENTENCES[records] in board
    assert SENTENCES[records] in analyst
    assert "mechanisms/selection.privacy.md" not in board
    for record in records:
        assert record.claim in analyst.replace("\\_", "_").replace("<wbr>", "")
        words = f"{record.status}, read by {'nobody other than its author' if not record.read_by else 'A B and C D'}"
        assert words in analyst
    assert analyst.count("read by nobody") <= 1  # proofs with the same readers share a line
    assert "written proof" not in render(make(), format, "board")
