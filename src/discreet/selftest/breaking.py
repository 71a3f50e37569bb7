"""The product broken at one place: one expression of one function, while a check runs."""

import importlib
import inspect
import textwrap
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from discreet.errors import DiscreetError


@dataclass(frozen=True)
class Fault:
    """One expression of a function, and what it is replaced by.

    Parameters
    ----------
    name : str
        In words.
    where : str
        Module below ``discreet``, a colon, and the function in it, such as
        ``methods.screening.sis:PreparedScreening.run``. sound : str What stands there, once. broken : str What is put
        in its place. check : str The check of the suite that must flag it. relation : str Under which it is checked.
        epsilon : float At which it is checked, in nats.
    """

    name: str
    where: str
    sound: str
    broken: str
    check: str
    relation: str = "add_or_remove_one"
    epsilon: float = 1.0


@contextmanager
def broken(fault: Fault) -> Iterator[None]:
    """Put a fault into the product within a block.

    The function object stays and gets other code, so that all who hold it call the broken one.
    """
    function = _function(fault.where)
    before = function.__code__
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(fault.sound) != 1:
        raise DiscreetError(
            f"{fault.where} must hold {fault.sound!r} once, to be broken as a control, but does not. "
            "Use an installation of one version, with its sources."
        )
    function.__code__ = _recompiled(function, source.replace(fault.sound, fault.broken))
    _forget(function)
    try:
        yield
    finally:
        function.__code__ = before
        _forget(function)


def _function(where: str) -> types.FunctionType:
    module, _, path = where.partition(":")
    owner = importlib.import_module(f"discreet.{module}")
    # As it is stored: an attribute of a class would already be bound.
    *outer, name = path.split(".")
    stored = inspect.getattr_static(reduce(getattr, outer, owner), name)
    if isinstance(stored, property):
        stored = stored.fget
    function = inspect.unwrap(getattr(stored, "__func__", getattr(stored, "func", stored)))
    if not isinstance(function, types.FunctionType):
        raise DiscreetError(f"{where} must be a function of Python, to be broken as a control.")
    return function


def _recompiled(function: types.FunctionType, source: str) -> types.CodeType:
    """Return the code of a function's new source, under its old line numbers and names."""
    module = compile("from __future__ import annotations\n" + source, function.__code__.co_filename, "exec")
    original = function.__code__
    for code in module.co_consts:
        if isinstance(code, types.CodeType) and code.co_name == original.co_name:
            if code.co_freevars != original.co_freevars:
                raise DiscreetError(f"{function.__qualname__} must not be a closure, to be broken as a control.")
            return code
    raise DiscreetError(f"{function.__qualname__} must be one function, to be broken as a control.")


def _forget(function: types.FunctionType) -> None:
    """Empty the caches of the function's module: they may hold what the other code returned."""
    for value in vars(importlib.import_module(function.__module__)).values():
        clear = getattr(value, "cache_clear", None)
        if clear is not None:
            clear()
