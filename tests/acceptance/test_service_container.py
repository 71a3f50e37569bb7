"""The service's container: its steps are one script, run here as on a bare machine, beside a real PostgreSQL."""

import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packages" / "discreet-service" / "container"
SCRIPT = FOLDER / "steps.sh"
STEPS = ["machine", "database", "parts", "wheels", "begin", "serve", "work"]
PATIENCE_S = 120.0


def environment(folder, url, port):
    """Of the steps: their folders, and no index of packages to install from."""
    given = {"PREFIX": folder / "prefix", "HOME": folder / "home", "SOURCES": folder, "DATABASE": url, "PORT": port}
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        **{f"DISCREET_{name}": str(value) for name, value in given.items()},
        "DISCREET_PYTHON": sys.executable,
        "PIP_NO_INDEX": "1",
        "HOME": str(folder),
    }


def step(name, given, **options):
    """Run one step to its end."""
    return subprocess.run(
        ["sh", SCRIPT, name], env=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory, postgres):
    """What the steps up to `begin` leave: the parts are those of this environment, the wheels are built here."""
    folder = tmp_path_factory.mktemp("machine")
    for package in (ROOT, ROOT / "packages" / "discreet-service"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
        subprocess.run(command, cwd=package, check=True, capture_output=True)
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        given = environment(folder, postgres().replace("+psycopg", ""), door.getsockname()[1])
    subprocess.run([sys.executable, "-m", "venv", folder / "prefix"], check=True)
    wheels = step("wheels", given)
    assert wheels.returncode == 0, wheels.stderr
    own = sysconfig.get_path("purelib", vars={"base": str(folder / "prefix")})
    # Its own packages come first: those of Discreet are the wheels, not this environment's.
    (Path(own) / "parts.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (folder / "home").mkdir(mode=0o700)
    begun = step("begin", given)
    assert begun.returncode == 0, begun.stderr
    return folder, given, begun.stderr


@contextmanager
def running(name, given):
    """Run a step that stays, and end it as a container is ended."""
    with subprocess.Popen(["sh", SCRIPT, name], env=given, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()


def health(given):
    """What the server says of itself, once it answers."""
    url = f"http://127.0.0.1:{given['DISCREET_PORT']}/v1/health"
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status
        time.sleep(0.1)
    return None


def test_the_steps_give_a_service(installed):
    """The wheels alone, from an empty folder to a server that answers and a worker that waits."""
    folder, given, said = installed
    assert re.search(r"Account admin, password \S{12}", said)
    assert "discreet@" in given["DISCREET_DATABASE"]
    code = "import discreet_service; print(discreet_service.__file__)"
    command = [folder / "prefix/bin/python", "-c", code]
    place = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
    assert place.stdout.startswith(str(folder / "prefix"))
    with running("serve", given), running("work", given) as worker:
        assert health(given) == 200
        assert worker.poll() is None


def test_beginning_again_changes_nothing(installed):
    """A container that starts anew keeps its secret and its accounts."""
    folder, given, _ = installed
    office = folder / "home" / "office"
    before = {path.name: path.read_bytes() for path in office.iterdir() if path.is_file()}
    assert step("begin", given).returncode == 0
    assert {path.name: path.read_bytes() for path in office.iterdir() if path.is_file()} == before
    for path in (office, office / "private", office / "pepper"):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("name", [None, "nothing"])
def test_a_step_that_is_none_is_refused(name):
    """It says which there are."""
    done = subprocess.run(["sh", SCRIPT, *([name] if name else [])], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert all(step_name in done.stderr for step_name in STEPS)


def test_container_and_how_to_run_the_same_steps():
    """Each step is run by the container files, or is the database, for which compose has a container; as documented."""
    container = (FOLDER / "Containerfile").read_text()
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    run = [name for line in re.findall(r"^RUN sh steps\.sh (.*)$", container, re.MULTILINE) for name in line.split()]
    run += [service["command"][0] for service in compose["services"].values() if isinstance(service["command"], list)]
    assert [name for name in STEPS if name != "database"] == run
    page = (ROOT / "docs" / "how-to" / "run-a-service.md").read_text()
    steps = re.findall(r"sh (?:\S*/)?steps\.sh ([a-z ]+)", page)
    assert [name for line in steps for name in line.split()] == STEPS


def test_nothing_runs_as_root_and_the_worker_has_no_network():
    """What the container files promise."""
    container = (FOLDER / "Containerfile").read_text()
    assert container.index("\nUSER discreet\n") < container.index("\nENTRYPOINT")
    assert not re.search(r"^(RUN|COPY|USER root)", container.partition("\nUSER discreet\n")[2], re.MULTILINE)
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    assert [name for name, service in services.items() if service.get("network_mode") != "none"] == ["server"]
    assert services["server"]["ports"] == ["127.0.0.1:8000:8000"]
    for name in ("begin", "server", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
