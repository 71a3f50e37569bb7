"""Other formats come in with what they say and no more, and our own goes out and back unchanged."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from metadata_strategies import metadatas, names

from discreet.data.formats.convert import (
    detect,
    from_csvw,
    from_smartnoise,
    read_any,
    to_csvw,
    to_smartnoise,
)
from discreet.data.lint import lint
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn
from discreet.data.yaml_text import yaml_text
from discreet.errors import InvalidParameterError, MetadataError

CSVW: dict[str, Any] = {
    "@context": ["http://www.w3.org/ns/csvw", "csvw-eo-context.jsonld"],
    "@type": "Table",
    "privacyUnit": "penguin_id",
    "maxContributions": 3,
    "maxLength": 400,
    "publicLength": 344,
    "tableSchema": {
        "columns": [
            {
                "@type": "Column",
                "name": "island",
                "datatype": "string",
                "keyValues": ["Biscoe", "Dream", None],
            },
            {"@type": "Column", "name": "bill", "datatype": "double", "minimum": 30.0, "maximum": 60.0},
            {
                "@type": "Column",
                "name": "mass",
                "datatype": "positiveInteger",
                "minimum": 2700.0,
                "maximum": 6300.0,
            },
            {"@type": "Column", "name": "sex", "datatype": "boolean", "minimum": False, "maximum": True},
            {
                "@type": "Column",
                "name": "penguin_id",
                "datatype": "integer",
                "privacyId": True,
                "maximum": 341,
            },
            {"@type": "Column", "name": "seen", "datatype": "dateTime", "minimum": "2025-01-02T00:00:00"},
            {"@type": "Column", "name": "note", "datatype": "string"},
        ]
    },
}

SMARTNOISE: dict[str, Any] = {
    "": {
        "Zoo": {
            "Penguins": {
                "row_privacy": False,
                "max_ids": 3,
                "rows": 344,
                "censor_dims": True,
                "penguin_id": {"name": "penguin_id", "type": "int", "private_id": True},
                "bill": {"type": "float", "lower": 30, "upper": 60, "nullable": True, "missing_value": 44.5},
                "mass": {"type": "int", "lower": 2700, "upper": 6300, "sensitivity": 10},
                "island": {"type": "string", "cardinality": 2, "categories": ["Biscoe", "Dream"]},
                "sex": {"type": "boolean", "missing_value": True},
                "seen": {"type": "datetime"},
                "note": {"type": "string"},
                "odd": {"type": "unknown"},
            }
        }
    }
}


def places(findings: Any) -> list[str]:
    return sorted(finding.place for finding in findings)


@pytest.mark.slow
@given(metadatas().filter(lambda metadata: metadata.n_units is None))
def test_csvw_and_back_is_the_same(metadata: Metadata) -> None:
    """Through JSON text and CSVW-EO, every field of every metadata comes back, with nothing to report."""
    document = json.loads(json.dumps(to_csvw(metadata), allow_nan=False))
    assert detect(document) == "csvw"
    converted = from_csvw(document)
    assert converted.metadata == metadata
    assert converted.findings == ()


OPTIONS = ("rows", "rows_exact", "row_privacy", "max_ids")


@pytest.mark.slow
@given(metadatas(allowed=names.filter(lambda name: name not in OPTIONS)).filter(lambda found: found.n_units is None))
def test_smartnoise_and_back_loses_what_is_listed(metadata: Metadata) -> None:
    """Through YAML and SmartNoise, all but the listed losses comes back."""
    document = yaml.safe_load(yaml_text(to_smartnoise(metadata)))
    back = from_smartnoise(document, neighboring=metadata.neighboring, unit=metadata.unit).metadata
    assert back == _without_losses(metadata)


@pytest.mark.parametrize("convert", [to_csvw, to_smartnoise])
def test_a_number_of_units_is_refused(convert: Any) -> None:
    """No other format has it, and a table without it would promise something else."""
    units = {"rows_per_unit": 2, "unit_id": "who", "n_units": 9, "neighboring": "replace_one"}
    value = {"dataset": "d", "unit": "u", "columns": {"a": {"type": "real", "lower": 0, "upper": 1}}, **units}
    with pytest.raises(MetadataError, match="no number of units, but these declare n_units=9"):
        convert(Metadata.from_value(value))


def _without_losses(metadata: Metadata) -> Metadata:
    value = metadata.to_dict()
    value.pop("description", None)
    for name, column in metadata.columns.items():
        declared = value["columns"][name]
        for lost in ("source", "description", "out_of_bounds", "bounds", "reference"):
            declared.pop(lost, None)
        if isinstance(column, CategoryColumn) and column.levels is None:
            declared.pop("unknown", None)
        if {"lower", "upper", "levels"} & declared.keys():
            declared["source"] = "imported from SmartNoise; not checked"
    return Metadata.from_value(value)


def test_csvw_says_what_it_says() -> None:
    """Bounds, keys, unit and contributions come in; dates do not; nobody has checked the bounds."""
    converted = from_csvw(CSVW)
    metadata = converted.metadata
    assert list(metadata.columns) == ["island", "bill", "mass", "sex", "note"]
    assert (metadata.unit, metadata.unit_id, metadata.rows_per_unit) == ("penguin_id", "penguin_id", 3)
    assert (metadata.neighboring, metadata.n_rows) == ("add_or_remove_one", None)
    island, mass = metadata.columns["island"], metadata.columns["mass"]
    assert isinstance(island, CategoryColumn)
    assert island.levels == ("Biscoe", "Dream")
    assert isinstance(mass, NumericColumn)
    assert (mass.type, mass.lower, mass.upper) == ("integer", 2700, 6300)
    assert mass.source == "imported from CSVW-EO; not checked"
    assert places(converted.findings) == [
        "columns.island",
        "columns.seen",
        "dataset",
        "n_rows",
        "rows_per_unit",
        "unit",
    ]
    assert sum("not checked" in finding.message for finding in lint(metadata)) == 3


@pytest.mark.parametrize("convert", [(from_csvw, CSVW), (from_smartnoise, SMARTNOISE)])
def test_the_number_of_rows_is_taken_only_under_replace_one(convert: Any) -> None:
    """The caller must say that the number of rows is public, and may say what it is."""
    read, document = convert
    assert read(document, neighboring="replace_one").metadata.n_rows == 344
    assert read(document, neighboring="replace_one", n_rows=9).metadata.n_rows == 9
    with pytest.raises(MetadataError, match="n_rows must be absent"):
        read(document, n_rows=9)
    with pytest.raises(MetadataError, match="replace_one"):
        read(document, neighboring="other")


def test_what_the_caller_says_is_not_reported() -> None:
    """A dataset and a unit that are given stand, without a finding."""
    converted = from_csvw(CSVW, dataset="penguins", unit="penguin")
    assert (converted.metadata.dataset, converted.metadata.unit) == ("penguins", "penguin")
    assert places(converted.findings) == ["columns.island", "columns.seen", "n_rows", "rows_per_unit"]


def test_earlier_names_of_csvw_are_read() -> None:
    """CSVW-SAFE put prefixes before its words, and CSVW-DP put them on the schema."""
    safe = {
        "@type": "csvw:Table",
        "url": "data/penguins.csv",
        "csvw-safe:public.privacyUnit": "pid",
        "csvw-safe:bounds.maxContributions": 2,
        "csvw-safe:public.length": 344,
        "csvw:tableSchema": {
            "csvw:columns": [
                {"name": "pid", "datatype": "decimal", "csvw-safe:public.privacyId": True},
                {"csvw:name": "bill", "csvw:datatype": "xsd:double", "csvw:minimum": 30, "csvw:maximum": 60},
                {
                    "name": "number",
                    "datatype": "integer",
                    "csvw-safe:partitions": [
                        {"csvw-safe:part.predicate": {"csvw-safe:part.partitionValue": value}} for value in (0, 1)
                    ],
                },
            ]
        },
    }
    metadata = from_csvw(safe, neighboring="replace_one").metadata
    assert (metadata.dataset, metadata.unit_id, metadata.rows_per_unit) == ("penguins", "pid", 2)
    assert metadata.n_rows == 344
    assert metadata.columns["number"].levels == ("0", "1")  # type: ignore[union-attr]
    schema = {
        "dp:maxContributions": 3,
        "dp:tableLength": 344,
        "columns": [
            {"name": "sex", "datatype": "integer", "dp:publicPartitions": [0, 1]},
            {"name": "pid", "datatype": "double", "dp:privacyId": True},
        ],
    }
    metadata = from_csvw({"tableSchema": schema}, neighboring="replace_one").metadata
    assert (metadata.unit_id, metadata.rows_per_unit, metadata.n_rows) == ("pid", 3, 344)


def test_plain_csvw_is_read() -> None:
    """The W3C's own form keeps bounds in the datatype, as text, and names in titles."""
    columns = [
        {"titles": ["age"], "datatype": {"base": "integer", "minimum": "0", "maximum": "110"}},
        {"name": "score", "datatype": "number", "minimum": 3, "maximum": 3},
        {"name": "when", "datatype": {"base": "date", "format": "yyyy"}},
        {"name": "free"},
    ]
    converted = from_csvw({"tableSchema": {"columns": columns}})
    age = converted.metadata.columns["age"]
    assert isinstance(age, NumericColumn)
    assert (age.lower, age.upper) == (0, 110)
    assert converted.metadata.columns["free"].type == "category"
    assert places(converted.findings) == ["columns.score", "columns.when", "dataset", "rows_per_unit"]
    assert converted.metadata.unit == "row"
    assert "unit" in places(lint(converted.metadata))


def test_intervals_are_no_levels() -> None:
    """Partitions of a continuous column are not taken for its levels."""
    intervals = [{"predicate": {"lowerBound": 30.0, "upperBound": 40.0}}]
    column = {"name": "bill", "datatype": "double", "minimum": 30, "maximum": 60, "partitions": intervals}
    bill = from_csvw({"tableSchema": {"columns": [column]}}).metadata.columns["bill"]
    assert bill.type == "real"


def test_smartnoise_says_what_it_says() -> None:
    """Bounds, categories, private_id and max_ids come in; dates do not; sensitivity follows from bounds."""
    converted = from_smartnoise(SMARTNOISE)
    metadata = converted.metadata
    assert list(metadata.columns) == ["bill", "mass", "island", "sex", "note"]
    assert (metadata.dataset, metadata.unit_id, metadata.rows_per_unit) == ("Penguins", "penguin_id", 3)
    bill, sex = metadata.columns["bill"], metadata.columns["sex"]
    assert isinstance(bill, NumericColumn)
    assert bill.missing == 44.5
    assert isinstance(sex, CategoryColumn)
    assert (sex.levels, sex.unknown) == (("false", "true"), "true")
    in_columns = ["columns.mass", "columns.odd", "columns.seen"]
    assert places(converted.findings) == [*in_columns, "dataset", "n_rows", "rows_per_unit", "unit"]


def test_a_private_id_protects_more_than_row_privacy() -> None:
    """Where both are given the private_id wins; row privacy alone is said by the lint to protect rows."""
    age = {"type": "int", "lower": 0, "upper": 110}
    both = from_smartnoise(
        {"": {"": {"t": {"row_privacy": True, "pid": {"type": "int", "private_id": True}, "age": age}}}}
    )
    assert both.metadata.unit_id == "pid"
    assert any("protects more" in finding.message for finding in both.findings)
    rows = from_smartnoise({"": {"": {"t": {"row_privacy": True, "age": age}}}}).metadata
    assert (rows.unit, rows.unit_id) == ("row", None)
    assert "unit" in places(lint(rows))


def test_lomas_tables_are_read() -> None:
    """Before CSVW-EO, Lomas kept one table with its columns under `columns`."""
    columns = {
        "island": {"type": "string", "cardinality": 2, "categories": ["Biscoe", "Dream"]},
        "grade": {"type": "int", "precision": 32, "cardinality": 2, "categories": [1, 2]},
        "bill": {"type": "float", "precision": 64, "lower": 30.0, "upper": 60.0, "missing_value": 99},
    }
    document = {"max_ids": 1, "rows": 344, "row_privacy": True, "columns": columns}
    assert detect(document) == "smartnoise"
    converted = from_smartnoise(document, neighboring="replace_one")
    assert converted.metadata.columns["grade"].levels == ("1", "2")  # type: ignore[union-attr]
    assert places(converted.findings) == ["columns.bill", "dataset"]


def test_one_of_several_tables_must_be_named() -> None:
    """Several tables are an error that lists them, unless one is chosen."""
    group = {"tables": [CSVW | {"url": "a.csv"}, CSVW | {"url": "b.csv"}]}
    with pytest.raises(MetadataError, match=r"2 fit; there are: 'a\.csv', 'b\.csv'"):
        from_csvw(group)
    assert from_csvw(group, table="b.csv").metadata.dataset == "b"
    penguins = SMARTNOISE[""]["Zoo"]["Penguins"]
    schemas = {"": {"Zoo": {"Penguins": penguins, "Bears": penguins}, "Sea": {"Penguins": penguins}}}
    with pytest.raises(MetadataError, match=r"3 fit; there are: 'Zoo\.Penguins', 'Zoo\.Bears', 'Sea\.Penguins'"):
        from_smartnoise(schemas)
    with pytest.raises(MetadataError, match="2 fit"):
        from_smartnoise(schemas, table="Penguins")
    assert from_smartnoise(schemas, table="Bears").metadata.dataset == "Bears"
    assert from_smartnoise(schemas, table="Sea.Penguins").metadata.dataset == "Penguins"
    with pytest.raises(MetadataError, match="0 fit"):
        from_smartnoise(schemas, table="Whales")


def test_smartnoise_takes_no_column_named_as_an_option() -> None:
    """SmartNoise would read a column `rows` as the number of rows."""
    column = {"type": "real", "lower": 0, "upper": 1}
    value = {"dataset": "d", "unit": "u", "neighboring": "add_or_remove_one", "columns": {"rows": column}}
    with pytest.raises(MetadataError, match="column='rows'"):
        to_smartnoise(Metadata.from_value(value))


def column_document(**column: Any) -> dict[str, Any]:
    return {"tableSchema": {"columns": [column]}}


BROKEN_CSVW: list[Any] = [
    None,
    [],
    {},
    {1: 2},
    {"tableSchema": "schema.json"},
    {"tableSchema": {}},
    {"tableSchema": {"columns": {}}},
    {"tableSchema": {"columns": ["age"]}},
    {"tableSchema": {"columns": []}},
    {"tables": {}},
    {"tables": []},
    {"tables": [1]},
    {"tables": [CSVW, CSVW | {"url": "table 1"}]},
    column_document(datatype="double"),
    column_document(name=3),
    column_document(titles=[]),
    column_document(name="", datatype="double"),
    column_document(name="age", datatype="double", minimum="low"),
    column_document(name="age", datatype="double", minimum=True),
    column_document(name="age", datatype="double", minimum=[1]),
    column_document(name="age", datatype="double", minimum=0, maximum=float("inf")),
    column_document(name="age", datatype="integer", minimum=0, maximum=10**400),
    column_document(name="a\nb", datatype="double", minimum=0, maximum=float("inf")),
    column_document(name="age", datatype="double", minimum=1, **{"csvw:minimum": 2}),
    column_document(name="site", keyValues="a"),
    column_document(name="site", keyValues=["a", ["b"]]),
    column_document(name="site", keyValues=["a", {"b": "c"}, 3]),
    column_document(name="site", keyValues=["1", 1]),
    column_document(name="born", datatype="date"),
    column_document(name="born", datatype=["date"]),
    column_document(name="born", datatype={"base": {}}),
    {"tableSchema": {"columns": [{"name": "a"}, {"name": "a"}]}},
    {"tableSchema": {"columns": [{"name": "a"}, {"name": "p", "privacyId": True}, {"name": "q", "privacyId": True}]}},
    CSVW | {"privacyUnit": None, "tableSchema": {"columns": [{"name": "a"}]}},
    CSVW | {"privacyUnit": ["penguin_id"]},
    CSVW | {"privacyUnit": {}},
    CSVW | {"maxContributions": "many"},
    CSVW | {"maxContributions": 0},
    CSVW | {"discreet:neighboring": ["x"]},
    CSVW | {"discreet:dataset": 7},
    CSVW | {"discreet:unit": {}, "discreet:description": []},
]


@pytest.mark.parametrize("document", BROKEN_CSVW, ids=range(len(BROKEN_CSVW)))
def test_broken_csvw_gives_one_line(document: Any) -> None:
    """Whatever is wrong with the shape, the error is ours, of one printable line."""
    with pytest.raises(MetadataError) as caught:
        from_csvw(document)
    assert str(caught.value).isprintable()


def nested(table: Any) -> dict[str, Any]:
    return {"": {"": {"t": table}}}


BROKEN_SMARTNOISE: list[Any] = [
    None,
    [],
    {},
    {"": None},
    {"": {"": None}},
    {"a": {}, "b": {}},
    {"engine": "postgres"},
    {"": {1: {}}},
    nested(None),
    nested({}),
    nested({"age": 3}),
    nested({"age": {"lower": 0}}),
    nested({"age": {"type": ["int"]}}),
    nested({"age": {"type": "int", "lower": "low"}}),
    nested({"age": {"type": "int", "private_id": "yes"}, "sex": {"type": "boolean"}}),
    nested({"age": {"type": "string", "categories": 3}}),
    nested({"age": {"type": "string", "categories": [[1], [2]]}}),
    nested({"p": {"type": "int", "private_id": True}, "q": {"type": "int", "private_id": True}}),
    nested({"max_ids": 2, "sex": {"type": "boolean"}}),
    nested({"max_ids": None, "sex": {"type": "boolean"}, 3: {"type": "int"}}),
    nested({"max_ids": "few", "sex": {"type": "boolean"}}),
    {"columns": {}},
    {"columns": {"age": 3}},
]


@pytest.mark.parametrize("document", BROKEN_SMARTNOISE, ids=range(len(BROKEN_SMARTNOISE)))
def test_broken_smartnoise_gives_one_line(document: Any) -> None:
    """Whatever is wrong with the shape, the error is ours, of one printable line."""
    with pytest.raises(MetadataError) as caught:
        from_smartnoise(document)
    assert str(caught.value).isprintable()


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
words = [
    "tableSchema",
    "columns",
    "name",
    "datatype",
    "minimum",
    "privacyId",
    "privacyUnit",
    "tables",
    "type",
    "lower",
]
keys = st.sampled_from(
    [*words, "keyValues", "predicate", "partitionValue", "categories", "missing_value", "integer", ""]
)
documents = st.recursive(
    scalars | keys,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | st.text(max_size=3), inner, max_size=5),
    max_leaves=20,
)


@given(documents, documents)
def test_any_shape_is_read_or_refused(document: Any, column: Any) -> None:
    """No shape whatever ends in another error than ours."""
    shapes = [document, {"tableSchema": {"columns": [column]}}, {"": {"": {"t": {"a": column}}}}]
    for shape in shapes:
        for read in (detect, from_csvw, from_smartnoise):
            try:
                read(shape)
            except MetadataError as error:
                assert "\n" not in str(error)  # noqa: PT017


def test_any_file_is_read(tmp_path: Path) -> None:
    """The format of a file is told from its content, and its own schema needs no conversion."""
    ours = from_csvw(CSVW, dataset="penguins").metadata
    ours.save(tmp_path / "ours.yaml")
    (tmp_path / "eo.json-ld").write_text(json.dumps(CSVW))
    (tmp_path / "sn.yaml").write_text(yaml.safe_dump(SMARTNOISE))
    assert read_any(tmp_path / "ours.yaml").metadata == ours
    assert read_any(tmp_path / "eo.json-ld", dataset="penguins").metadata == ours
    assert read_any(tmp_path / "sn.yaml", table="Penguins").metadata.dataset == "Penguins"
    with pytest.raises(InvalidParameterError, match="read as they are"):
        read_any(tmp_path / "ours.yaml", unit="penguin")
    with pytest.raises(InvalidParameterError, match="no such file"):
        read_any(tmp_path / "none.yaml")


@pytest.mark.parametrize("text", ["", "3", "[1, 2]", "{a: b}", "a: {b: {c: d}}", "{", "schema: other"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    """A file of no known format is refused in one line that says which there are."""
    (tmp_path / "file.yaml").write_text(text)
    with pytest.raises(MetadataError, match=r"Metadata must|metadata file is empty"):
        read_any(tmp_path / "file.yaml")


def test_our_own_errors_are_told_for_our_own_schema() -> None:
    """Metadata that are nearly ours are judged by our schema, not called unknown."""
    assert detect({"schema": "discreet/metadata@9"}) == "discreet"
    assert detect({"dataset": "d", "neighboring": "replace_one", "columns": {}}) == "discreet"


@pytest.mark.slow
@given(metadatas())
def test_words_in_files_are_read_as_written(metadata: Metadata) -> None:
    """Metadata saved as YAML or JSON come back the same, whatever their names and levels look like."""
    assert Metadata.from_text(metadata.to_yaml()) == metadata
    assert Metadata.from_text(json.dumps(metadata.to_dict())) == metadata


def test_levels_that_look_like_other_things_stay_text() -> None:
    """YAML's old habits do not turn yes, 010, 12:30 or a date into something else."""
    text = (
        "{dataset: d, unit: u, neighboring: add_or_remove_one, columns: "
        "{no: {type: category, levels: [yes, no, on, 010, 0x1f, 1_000, 12:30, 2020-01-31]}}}"
    )
    column = Metadata.from_text(text).columns["no"]
    assert isinstance(column, CategoryColumn)
    assert column.levels == ("yes", "no", "on", "010", "0x1f", "1_000", "12:30", "2020-01-31")
