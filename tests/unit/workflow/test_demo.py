"""The demonstration's table: what it is, and that it may be shipped."""

import pyarrow.csv
import pyarrow.parquet
from statsmodels.datasets import randhie
from tests.contracts.test_house import REPOSITORY

from discreet.workflow.demo import METADATA, write_demo


def test_table_is_the_published_one(tmp_path):
    """Every value and type is that of the table that statsmodels publishes."""
    data, _, _ = write_demo(tmp_path)
    published = pyarrow.csv.read_csv(randhie.__path__[0] + "/randhie.csv")
    table = pyarrow.parquet.read_table(data)
    assert table.equals(published)
    assert (table.num_rows, table.column_names) == (METADATA.n_rows, list(METADATA.columns))


def test_notice_states_source_and_licence():
    """NOTICE quotes what statsmodels says of the table's licence, word for word."""
    (text,) = [block for block in (REPOSITORY / "NOTICE").read_text().split("\n\n") if "rand_hie.parquet" in block]
    assert f'"{randhie.COPYRIGHT}"' in text
    assert "public domain" in randhie.COPYRIGHT
