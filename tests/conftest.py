"""What holds for all tests."""

import atexit
import gc
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.servers import postgres

__all__ = ["postgres"]


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where ledgers' witnesses are remembered: a folder of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


# The same examples on every machine, however busy it is: a failure is a failure of the code.
settings.register_profile("discreet", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("discreet")

# A shell's background job ignores interrupts, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONG_FILES = (
    *("test_r_package", "test_record_and_replay", "test_pure_regressions", "test_service_pages", "test_documentation"),
    *("test_service_crash", "test_service_canary", "test_selftest", "test_cube", "test_subset_search"),
    *("test_plan_command", "test_every_engine", "test_service_tampering", "test_spark", "test_service_race"),
    *("test_estimators", "test_auto_selection", "test_auto_command", "test_accessibility", "test_wang_figures"),
    *("test_ledger_race", "test_engines", "test_claims", "test_house", "test_supply_chain"),
)
"""Tests that take longest, the longest first: what is begun last should not last."""


@pytest.hookimpl(tryfirst=True)  # before pytest looks which marks are asked for
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first, and mark the tests that need a program, by what they use."""
    place = {name: at for at, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        texts = [value for value in values if isinstance(value, str)]
        if "postgres" in fixtures or any(re.match("postgres(ql)?([ -]|$)", text) for text in texts):
            item.add_marker("database")
        if "browser" in fixtures:
            item.add_marker("browser")
        if "spark" in item.nodeid.lower():
            item.add_marker("spark")


# What is collected stays: to look through all of it for garbage again and again takes a fifth of the collection's time.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but not among the tests."""
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)  # all of it goes at the end, in one collection


WAITING = re.compile(r"^spark|/test_(service_|server_|remote_|same_request|interrupt|ledger_crash|ledger_race)[^/]*$")
"""Tests that mostly wait: for the end of a slot, another process, a browser, a disk."""


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Gives all tests of a file to one process, for what they share is made once; and so all tests on Spark.

    Half of the processes take what waits as long as there is such, so that the others have the processors to
    themselves.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if "spark" in nodeid.lower() else nodeid.partition("::")[0]

    def _assign_work_unit(self, node: Any) -> None:
        waits = self.nodes.index(node) < len(self.nodes) // 2
        fits = (scope for scope in self.workqueue if bool(WAITING.search(scope)) == waits)
        self.workqueue.move_to_end(next(fits, next(iter(self.workqueue))), last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Give files out in the order of the tests: the long ones come first."""
    config.option.loadscopereorder = False
    return ByFile(config, log)
