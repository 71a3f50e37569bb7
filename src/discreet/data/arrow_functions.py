"""Arrow's functions on arrays, loaded at the first call: a dry run declares columns and reads none."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("pyarrow.compute"), name)
