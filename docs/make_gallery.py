"""Draw the pictures of the gallery anew, from a public table and from made-up rows: ``python docs/make_gallery.py``.

The noise comes from the system, so each run draws other pictures.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.report import pictures_of
from discreet.workflow.demo import write_demo

FOLDER = Path(__file__).parent / "gallery"
MADE_UP = {
    "schema": "discreet/metadata@1",
    "dataset": "made-up-genes",
    "unit": "person",
    "neighboring": "replace_one",
    "n_rows": 5000,
    "columns": {
        f"gene_{place:02}": {"type": "real", "lower": -1, "upper": 1, "source": "made up"} for place in range(40)
    }
    | {"dose": {"type": "real", "lower": -2, "upper": 2, "source": "made up"}},
}


def survey(folder: Path) -> dict[str, str]:
    """Doctor visits in the RAND Health Insurance Experiment: selected, then fitted, at epsilon 2 in all."""
    write_demo(folder)
    metadata = dc.Metadata.read(folder / "rand_hie.yaml")
    table = dc.open_table(folder / "rand_hie.parquet", metadata)
    with dc.Ledger(folder / "ledger.sqlite") as ledger:
        ledger.grant(metadata.dataset, epsilon=4, delta=1e-5)
        moments = dc.NoisyMoments(epsilon=2, delta=1e-6, y_center=5).fit(table, target="mdvis", ledger=ledger)
        fit = moments.coefficients()
    scenario = dc.Scenario.of(metadata, "mdvis", n_true=3, r_squared=0.05)
    rivals = [dc.Rival("pcls", "pcls", {}), dc.Rival("moments", "moments", {"delta": 1e-6})]
    expected = dc.expected_selection(scenario, [0.1, 0.3, 1.0, 3.0], compared=rivals, n_tables=10, n_draws=2)
    fitted, selected = pictures_of(fit), pictures_of(moments.release_)
    drawn = {f"survey-{name}": fitted[name].svg for name in ("coefficients", "odds", "budget")}
    return drawn | {"selection-sizes": selected["sizes"].svg, "plan": on_paper(str(dc.accuracy_chart(expected)))}


def on_paper(svg: str) -> str:
    """Give a picture a white ground, so that it can be read on a dark page."""
    return svg.replace("><g ", '><rect width="100%" height="100%" fill="#ffffff"/><g ', 1)


def screening(folder: Path) -> dict[str, str]:
    """Forty made-up columns, four of which matter: the four strongest, at epsilon 2."""
    rng = np.random.default_rng(0)  # noqa: TID251 - made-up rows, not noise
    cells = rng.uniform(-1, 1, (5000, 40))
    dose = np.clip(cells[:, :4] @ [0.9, 0.7, -0.6, 0.5] + rng.normal(0, 0.3, 5000), -2, 2)
    columns = {f"gene_{place:02}": cells[:, place] for place in range(40)} | {"dose": dose}
    metadata = dc.Metadata.model_validate(MADE_UP)
    table = dc.open_table(pa.table(columns), metadata)
    with dc.Ledger(folder / "genes.sqlite") as ledger:
        ledger.grant(metadata.dataset, epsilon=4)
        screened = dc.DPSIS(epsilon=2, n_features_to_select=4).fit(table, target="dose", ledger=ledger)
    return {"screening-swap": pictures_of(screened.release_)["swap"].svg}


def main() -> None:
    """Draw all."""
    with tempfile.TemporaryDirectory() as name:
        pictures = survey(Path(name)) | screening(Path(name))
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for name, svg in pictures.items():
        (FOLDER / f"{name}.svg").write_text(svg + "\n")


if __name__ == "__main__":
    main()
