"""The audit can be read again, whatever was noted."""

from discreet_service.store import audit
from discreet_service.store.revisions import open_database


def test_a_long_detail_is_still_json(tmp_path):
    """Of facts too long to keep, such as fifty long names, the names of the facts stand: a line cut off is none."""
    database = open_database(str(tmp_path / "office.sqlite"))
    with database.write() as connection:
        audit.record(connection, "cora", "set members", "alpha", members=["x" * 100] * 50, few=1)
        audit.record_at(connection, "2026-01-01T00:00:00.000Z", "worker", "release", "id", {})
    with database.read() as connection:
        last, first = audit.page(connection, None, 10)
    database.close()
    assert set(first.detail) == {"members", "few"}
    assert (last.time, last.detail) == ("2026-01-01T00:00:00.000Z", {})
