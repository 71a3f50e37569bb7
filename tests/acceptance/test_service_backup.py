"""What docs/how-to/run-a-service.md prints works: backup, restore, reconcile, and two roles of PostgreSQL."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import VerificationError
from discreet.ledger import Ledger
from discreet_service.access.roles import Principal, Role
from discreet_service.context import open_context
from discreet_service.schemas import UserIn
from discreet_service.settings import read_settings
from discreet_service.use_cases import people
from tests.servers import Postgres

pytestmark = pytest.mark.processes

RELATION = NeighboringRelation.REPLACE_ONE
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-a-service.md"


def commands(heading: str, place: int = 0) -> list[str]:
    """The commands of a block below a heading, as they are printed."""
    below = PAGE.read_text().split(f"\n{heading}\n", 1)[1]
    block = re.findall(r"```console\n(.*?)```", below, re.DOTALL)[place]
    return [line.removeprefix("$ ") for line in re.split(r"\n(?=\$ )", block.strip())]


def run(*printed: str, **environment: str) -> str:
    """Run commands in this folder, one after the other, as a shell would; return what they said."""
    programs = [str(Path(sys.executable).parent), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
    path = os.pathsep.join([*programs, os.environ["PATH"]])
    script = "\n".join(["set -e", *printed])
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment, "PATH": path},
    )
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spend(epsilon: int) -> None:
    """Charge the service's ledger, and open the rows on its account."""
    with open_context(read_settings(Path("office/service.yaml"))) as context:
        if not context.ledger.accounts():
            context.ledger.grant("clinic", 10)
        promised = Guarantee(Fraction(epsilon), Fraction(0), RELATION)
        question = hashlib.sha256(str(epsilon).encode()).hexdigest()
        asked = {"request": question, "dataset": "clinic", "unit": "person", "neighboring": RELATION}
        context.ledger.reserve(**asked, guarantee=promised, facts={"method": "pcls"}).touch()


def spent() -> float:
    """What the ledger says is spent, after it was verified and compared with its witness."""
    with open_context(read_settings(Path("office/service.yaml"))) as context:
        context.ledger.verify()
        return float(context.ledger.account("clinic").epsilon_spent)


def lose_and_restore(backup: list[str], restore: list[str], reconcile: list[str], **environment: str) -> None:
    """Back up, go on, put the backup back, and see that no budget comes back with it."""
    spend(1)
    run(*backup, **environment)
    spend(2)
    assert spent() == 3
    run(*restore, **environment)
    with pytest.raises(VerificationError, match="reconcile"):
        spent()
    told = run(*reconcile, **environment)
    assert "The ledger is intact" in told
    assert spent() == 3
    run(*reconcile, **environment)  # once more charges nothing more
    assert spent() == 3
    with open_context(read_settings(Path("office/service.yaml"))) as context:
        assert [one.name for one in people.accounts(context)] == ["admin"]
        people.add_account(context, "admin", UserIn(name="ada", role=Role.CURATOR))
        assert people.me(context, Principal("ada", Role.CURATOR)).name == "ada"


def test_sqlite(folder):
    """A service on a file: from its set-up to its restored, reconciled ledger."""
    assert "Account admin" in run(*commands("## Set it up")[1:2])
    lose_and_restore(
        commands("### Back up SQLite"), commands("### Restore SQLite"), commands("## After a restore", place=0)
    )


@pytest.fixture
def urls(postgres: Postgres, folder: Path) -> Iterator[dict[str, str]]:
    """The two URLs of the page, on a server of the test's own."""
    admin = make_url(postgres())
    where = f"?host={quote(str(admin.query['host']))}"
    found = {
        "ADMIN": f"postgresql://{admin.username}@/{admin.database}{where}",
        "OWNER": f"postgresql://discreet_owner@/discreet{where}",
    }
    yield found
    drop = ["DROP DATABASE discreet WITH (FORCE)", "DROP ROLE discreet_owner", "DROP ROLE discreet_service"]
    run(" ".join(["psql", '"$ADMIN"', *(f'-c "{one}"' for one in drop)]), **found)


def test_postgresql(urls):
    """A service on PostgreSQL with two roles: set up, backed up, restored, reconciled."""
    run(*commands("## Keep the database in PostgreSQL"), **urls)
    service = read_settings(Path("office/service.yaml")).database
    assert service == urls["OWNER"].replace("discreet_owner", "discreet_service")
    lose_and_restore(
        commands("### Back up PostgreSQL"),
        commands("### Restore PostgreSQL"),
        commands("## After a restore", place=1),
        **urls,
    )
    with Ledger(service) as ledger:  # the grants came back, too
        assert ledger.accounts()
    _cannot(service, "DROP TABLE audit")
    _cannot(service, "TRUNCATE audit")
    _cannot(service, "ALTER TABLE audit DISABLE TRIGGER ALL")
    _cannot(service, "UPDATE audit SET actor = 'nobody'")
    _cannot(service, "DELETE FROM entries")
    run(*commands("## Upgrade"), **urls)


def _cannot(url: str, statement: str) -> None:
    """What the service's role must not be able to do."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    try:
        with pytest.raises(SQLAlchemyError), engine.begin() as connection:
            connection.execute(text(statement))
    finally:
        engine.dispose()
