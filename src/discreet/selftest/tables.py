"""Small tables for worst pairs, opened as anybody opens one."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

import discreet as dc

Row = Sequence[float]
BOX = {"type": "real", "lower": -1, "upper": 1}
LABEL = {"type": "integer", "lower": 0, "upper": 1}


def opened(names: Sequence[str], rows: Iterable[Row], relation: str, **metadata: Any) -> Any:
    """Open rows as a private table.

    Parameters
    ----------
    names : sequence of str
        Columns, each from -1 to 1 unless ``columns`` says otherwise.
    rows : iterable of sequence of float
        Their cells.
    relation : str
        Which tables are neighbors.
    **metadata : Any
        Further fields; ``columns`` are added to the others.

    Returns
    -------
    Table
        In memory.
    """
    cells = [list(row) for row in rows]
    more = metadata.pop("columns", {})
    public = {"n_rows": len(cells)} if relation == "replace_one" else {}
    unit = metadata.get("unit_id")
    declared = {"dataset": "selftest", "unit": "person", "neighboring": relation, **public, **metadata}
    declared["columns"] = {name: BOX for name in names if name != unit} | more
    frame = pa.table({name: pa.array([row[place] for row in cells]) for place, name in enumerate(names)})
    return dc.open_table(frame, dc.Metadata.model_validate(declared))
