"""The demonstration's table: the RAND Health Insurance Experiment, with metadata from its code book."""

from pathlib import Path

from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.files import write_whole

TARGET = "mdvis"
TABLE = Path(__file__).with_name("rand_hie.parquet")
"""20,190 rows of ten columns; `NOTICE` says where they come from."""
PLAN = Path(__file__).with_name("rand_hie_plan.yaml").read_text()

CAP, DELTA_CAP = 3.0, 1e-5

_BINARY = {"type": "integer", "lower": 0, "upper": 1}
_COLUMNS = {
    "mdvis": {
        "type": "integer",
        "lower": 0,
        "upper": 20,
        "source": "a count of visits in a year; counts above 20 are cut to 20",
        "description": "outpatient visits to a physician",
    },
    "lncoins": {
        "type": "real",
        "lower": 0,
        "upper": 4.62,
        "source": "code book: ln(coinsurance + 1), coinsurance 0 to 100 per cent",
        "description": "log of the coinsurance rate",
    },
    "idp": {**_BINARY, "source": "code book: 0 or 1", "description": "individual deductible plan"},
    "lpi": {
        "type": "real",
        "lower": 0,
        "upper": 8,
        "source": "code book: ln(max(1, payment)); plans paid at most about 3,000 dollars",
        "description": "log of the annual participation incentive",
    },
    "fmde": {
        "type": "real",
        "lower": 0,
        "upper": 8.3,
        "source": "code book and plan design: at most 1,000 dollars at 25 per cent coinsurance",
        "description": "log of the maximum dollar expenditure over the coinsurance rate; 0 under idp",
    },
    "physlm": {
        "type": "real",
        "lower": 0,
        "upper": 1,
        "source": "code book: 0 to 1",
        "description": "physical limitation",
    },
    "disea": {
        "type": "real",
        "lower": 0,
        "upper": 60,
        "source": "code book: an index of chronic diseases",
        "description": "chronic diseases",
    },
    "hlthg": {**_BINARY, "source": "code book: 0 or 1", "description": "self-rated health is good"},
    "hlthf": {**_BINARY, "source": "code book: 0 or 1", "description": "self-rated health is fair"},
    "hlthp": {**_BINARY, "source": "code book: 0 or 1", "description": "self-rated health is poor"},
}

METADATA = Metadata.from_value(
    {
        "schema": "discreet/metadata@1",
        "dataset": "rand-hie",
        "unit": "person-year",
        "neighboring": "replace_one",
        "n_rows": 20190,
        "description": (
            "RAND Health Insurance Experiment, in the public domain. A row is one person in one year: most people have "
            "several rows, and the table has no identifier that would let them be limited. The unit of protection is "
            "therefore a person-year; a person with c rows is protected with c times epsilon, c up to 5."
        ),
        "columns": _COLUMNS,
    }
)


def write_demo(folder: Path) -> tuple[Path, Path, Path]:
    """Write the table, its metadata and the plan.

    The Parquet file, the metadata file, the plan.
    """
    data, metadata = folder / "rand_hie.parquet", folder / "rand_hie.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "it failed").lower()
        raise InvalidParameterError(
            f"The folder must be writable, but {folder}: {reason}. Choose another --dir."
        ) from None
    write_whole(data, TABLE.read_bytes())
    METADATA.save(metadata)
    return data, metadata, write_whole(folder / "plan.yaml", PLAN)
