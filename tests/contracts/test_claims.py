"""Every mechanism and method carries its claim, and the claim was read against the code as it is."""

import importlib
import inspect
import pkgutil

import pytest

import discreet.mechanisms
import discreet.methods
from discreet.accounting.neighbors import NeighboringRelation
from discreet.mechanisms.rng import Source
from discreet.methods.base import Preparation
from tests.contracts.claims import FIELDS, ROOT, claims, fingerprint, head, may_be_proved, readers, renewed


def registered():
    """Functions that draw noise, and runs of methods: what must have a claim."""
    found = set()
    for package in (discreet.mechanisms, discreet.methods):
        for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            module = importlib.import_module(info.name)
            for name, thing in vars(module).items():
                if getattr(thing, "__module__", None) != info.name or name.startswith("_"):
                    continue
                if inspect.isfunction(thing) and any(
                    parameter.annotation in (Source, "Source")
                    for parameter in inspect.signature(thing).parameters.values()
                ):
                    found.add(f"{info.name}.{name}")
                if inspect.isclass(thing) and issubclass(thing, Preparation) and not inspect.isabstract(thing):
                    found.add(f"{info.name}.{name}.run")
    return found


def test_everything_that_draws_noise_has_a_claim():
    """A function or method that takes a Source is named by exactly one claim beside it."""
    named = [name for path in claims() for name in head(path)["function"].split(", ")]
    assert registered() == set(named)
    assert len(named) == len(set(named))


@pytest.mark.parametrize("path", claims(), ids=lambda path: path.stem)
def test_head_has_every_field(path):
    """The head holds the fixed fields in their order; status and numerics are of the known kinds."""
    fields = head(path)
    assert tuple(fields) == FIELDS
    assert fields["status"] == "contrib" or (fields["status"] == "proved" and may_be_proved(fields))
    assert fields["read_by"] == "nobody" or readers(fields)
    assert fields["numerics"] in ("idealized", "float-safe", "exact")
    named = [name for name in NeighboringRelation.__members__ if name in fields["neighboring"]]
    assert named or "the relation under which" in fields["neighboring"]


def test_who_may_call_a_claim_proved():
    """Control: one reader, the same one twice, or a proof about real numbers is not enough; a change undoes it."""
    fields = {"numerics": "exact", "read_by": "A B 2026-01-01, C 2026-01-02"}
    assert may_be_proved(fields)
    for change in ({"read_by": "A B 2026-01-01"}, {"read_by": "C 2026-01-01, C 2026-01-02"}, {"numerics": "idealized"}):
        assert not may_be_proved(fields | change)
    text = "```\nstatus: proved\nread_by: A 2026-01-01, B 2026-01-01\ncode: 1\n```\n"
    assert renewed(text, "2") == "```\nstatus: contrib\nread_by: nobody\ncode: 2\n```\n"


@pytest.mark.parametrize("path", claims(), ids=lambda path: path.stem)
def test_claim_stands_beside_its_code(path):
    """NAME.privacy.md lies beside NAME.py, and the function it names exists there."""
    stem = path.name.split(".")[0]
    assert path.with_name(path.name.replace(".privacy.md", ".py")).is_file()
    assert path.is_relative_to(ROOT)
    for name in head(path)["function"].split(", "):
        module, _, rest = name.partition(stem + ".")
        thing = importlib.import_module(module + stem)
        for part in rest.split("."):
            thing = getattr(thing, part)
        assert callable(thing)


@pytest.mark.parametrize("path", claims(), ids=lambda path: path.stem)
def test_proof_was_read_against_this_code(path):
    """A changed line makes the proof stale: read it again, then `python -m tests.contracts.claims --read`."""
    fields = head(path)
    assert fields["code"] == fingerprint(fields["covers"]), f"{path.name} is stale"


def test_fingerprint_notices_a_change(tmp_path, monkeypatch):
    """Control: one changed operator changes the fingerprint; a changed comment or docstring does not."""
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "claimed_example.py"
    prints = []
    for text in ('"""A."""\nx = 1 + 2  # one\n', '"""B."""\nx = 1 + 2\n', '"""A."""\nx = 1 - 2  # one\n'):
        module.write_text(text)
        importlib.invalidate_caches()
        prints.append(fingerprint("claimed_example"))
    assert prints[0] == prints[1] != prints[2]


def test_event_of_a_run_states_the_claimed_epsilon():
    """The event that is charged for a run carries the method's epsilon and its noise."""
    from discreet.data.metadata import Metadata
    from discreet.methods.pcls import PenalizedLeastSquares

    box = {"type": "real", "lower": -1, "upper": 1}
    for relation, public in (("replace_one", {"n_rows": 10}), ("add_or_remove_one", {})):
        metadata = Metadata.from_value(
            {"dataset": "d", "unit": "person", "neighboring": relation, "columns": {"x": box, "y": box}, **public}
        )
        for mechanism, noise in (
            ("permute_and_flip", "exponential"),
            ("exponential", "gumbel"),
            ("laplace", "laplace"),
        ):
            event = PenalizedLeastSquares(epsilon=0.3, mechanism=mechanism).prepare(metadata, "y").event
            assert (float(event.epsilon), event.noise) == (0.3, noise)
