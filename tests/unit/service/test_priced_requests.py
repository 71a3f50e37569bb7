"""From the text of a request to its price: public tables alone, and no place outside the folders of the service."""

import hashlib
import os

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.office import METADATA, QUESTION, open_office, write_table

import discreet as dc
from discreet.errors import InvalidParameterError
from discreet_service.use_cases.priced_requests import check_place, private_source, resolve_path

OUTSIDE = [
    "../secret.parquet",
    "a/../../secret.parquet",
    "/etc/passwd",
    "~/secret.parquet",
    "~",
    "..",
    ".",
    "./..",
    "file:///etc/passwd",
    "http://127.0.0.1:8000/v1/me",
    "s3://bucket/key.parquet",
    "postgresql://user@host/name",
    "a\\..\\b.parquet",
    "a\x00b.parquet",
    "a\nb.parquet",
    "//etc/passwd",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out_of_its_folder(tmp_path, path):
    """Paths that climb, begin at the root, name a scheme or hide a character are refused unseen."""
    place = {"root": "tables", "path": path, "table": None}
    with pytest.raises(InvalidParameterError, match="plain path below the folder"):
        check_place(("tables",), place)
    with pytest.raises(InvalidParameterError):
        resolve_path({"tables": tmp_path}, place)


def test_no_link_leads_out_of_its_folder(tmp_path):
    """A link below the folder that points elsewhere is refused by who would open it; one that stays is followed."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.parquet").write_text("")
    (inside / "real.parquet").write_text("")
    os.symlink(tmp_path / "secret.parquet", inside / "out.parquet")
    os.symlink(inside / "real.parquet", inside / "in.parquet")
    with pytest.raises(InvalidParameterError, match="plain path below"):
        resolve_path({"tables": inside}, {"root": "tables", "path": "out.parquet", "table": None})
    found = resolve_path({"tables": inside}, {"root": "tables", "path": "in.parquet", "table": None})
    assert found == (inside / "real.parquet").resolve()


def test_a_folder_must_be_named_in_the_service_file(tmp_path):
    """Folders have names; a path or the name of a public folder is none of them."""
    for root in ("", "/", "other", str(tmp_path)):
        with pytest.raises(InvalidParameterError, match="a folder that the service file names"):
            resolve_path({"tables": tmp_path}, {"root": root, "path": "x.parquet", "table": None})


def test_a_table_of_a_database_has_one_name(tmp_path):
    """schema.table, without a second place for it: two names would be two budgets. Folders stay what they were."""
    url = "postgresql://reader@h/x"
    roots = {"warehouse": url, "tables": tmp_path}
    place = {"root": "warehouse", "path": "clinic.people", "table": None}
    assert private_source(roots, place) == (url, "clinic.people")
    for wrong in ({"path": "people"}, {"path": ".people"}, {"path": "clinic."}, {"path": "a.b\n"}, {"table": "people"}):
        with pytest.raises(InvalidParameterError, match=r"schema\.table"):
            private_source(roots, place | wrong)
    file = {"root": "tables", "path": "x.duckdb", "table": "people"}
    assert private_source(roots, file) == (tmp_path / "x.duckdb", "people")
    with pytest.raises(InvalidParameterError, match="service file names"):
        private_source(roots, place | {"root": "other"})


def _with_public(office):
    """Register a data set with a public table beside it."""
    y, a = [i / 50 - 1 for i in range(100)], [(i * 7 % 100) / 50 - 1 for i in range(100)]
    file = office.folder / "public" / "volunteers.parquet"
    pyarrow.parquet.write_table(pa.table({"y": y, "a": a}), file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    metadata = METADATA | {"dataset": "pair", "public": {"sha256": digest, "source": "they agreed"}}
    write_table(office.folder, "pair.parquet")
    data = {"root": "tables", "path": "pair.parquet"}
    source = {"data": data, "public": {"root": "open", "path": "volunteers.parquet"}}
    return {"metadata": metadata, "source": source}


@pytest.mark.slow
def test_an_estimate_on_public_records_is_asked_like_any_other(tmp_path):
    """The public table is the one that was registered; the answer comes with weights on its points."""
    with open_office(tmp_path, slot_s=1) as office:
        assert office.call("cora", "POST", "/datasets", json=_with_public(office)).status_code == 201
        office.call("cora", "PUT", "/datasets/pair/budget", json={"epsilon": 2})
        office.call("cora", "PUT", "/datasets/pair/allotments/alpha", json={"epsilon": 2})
        asked = office.ask(dataset="pair", method="hybrid", candidates=["a"], parameters={"epsilon": 1})
        assert office.approve(asked).status_code == 200
        office.answer()
        release = office.call("ann", "GET", f"/requests/{asked['id']}/release").json()
        assert release["hybrid"]["points"]["public"] == "volunteers.parquet"
        assert [one["name"] for one in release["fit"]["coefficients"]][1:] == ["a"]


def test_moments_of_the_public_table_must_be_its(tmp_path):
    """With its digest a request may state its moments alone, also in a plan's selection; others without the digest."""
    with open_office(tmp_path) as office:
        body = _with_public(office)
        assert office.call("cora", "POST", "/datasets", json=body).status_code == 201
        office.call("cora", "PUT", "/datasets/pair/budget", json={"epsilon": 2})
        office.call("cora", "PUT", "/datasets/pair/allotments/alpha", json={"epsilon": 2})
        file = office.folder / "public" / "volunteers.parquet"
        metadata = dc.Metadata.from_value(body["metadata"])
        own = dc.public_moments(file, metadata, ["a"]).model_dump(mode="json")
        away = {"means": [own["means"][0] + 1e-6]}
        wider = {"covariance": [[own["covariance"][0][0] * 1.000001]]}
        lies = [away, wider, {"n_records": 101}, {"source": "census"}, {"labels": ["nobody"]}, {"skewness": [0.5]}]

        def answer(stated, key):
            alone = {"method": "decorrelated", "parameters": {"epsilon": 0.5, "public_moments": stated}}
            step = {"method": "decorrelated", "public_moments": stated}
            plan = {"method": "run", "parameters": {"epsilon": 1, "select": step, "fit": {"family": "linear"}}}
            common = QUESTION | {"dataset": "pair", "candidates": ["a"]}
            return [
                office.call(
                    "ann", "POST", "/requests", json=common | own, headers={"Idempotency-Key": f"moments-{key}-{n}"}
                )
                for n, own in enumerate((alone, plan))
            ]

        for number, lie in enumerate(lies):
            for told in answer(own | lie, number):
                assert told.status_code == 422, told.text
                assert "computed from it" in told.text
        near = {"means": [own["means"][0] * (1 + 1e-12)]}
        for number, right in enumerate((own, own | near, own | {"sha256": None, "n_records": 7})):
            for told in answer(right, f"right-{number}"):
                assert told.status_code == 201, told.text


def test_what_no_ledger_may_record_is_refused(tmp_path):
    """Runs for study, tables of the caller's own and unknown columns or methods are refused, and nothing is made."""
    wrong = [
        ({"parameters": {"epsilon": 0.5, "as_published": True}}, 403),
        ({"method": "hybrid", "parameters": {"epsilon": 0.5}}, 422),
        ({"method": "hybrid", "parameters": {"epsilon": 0.5, "public": "/etc/passwd"}}, 422),
        ({"parameters": {"epsilon": -1}}, 422),
        ({"parameters": {"epsilon": 1e-300}}, 422),
        ({"parameters": {}}, 422),
        ({"parameters": {"epsilon": 0.5, "seed": 1}}, 422),
        ({"parameters": {"epsilon": 0.5, "score_func": "x"}}, 422),
        ({"target": "nobody"}, 422),
        ({"candidates": ["a", "secret_name"]}, 422),
        ({"method": "pickle"}, 422),
        ({"extra": 1}, 422),
    ]
    with open_office(tmp_path) as office:
        for number, (change, status) in enumerate(wrong):
            headers = {"Idempotency-Key": f"wrong-key-{number}"}
            answer = office.call("ann", "POST", "/requests", json=QUESTION | change, headers=headers)
            assert answer.status_code == status, (change, answer.text)
        assert office.call("ann", "GET", "/requests").json()["items"] == []
        account = office.call("ann", "GET", "/datasets/toy/budget").json()
        assert account["epsilon_spent"] == 0


def test_a_name_that_is_not_declared_tells_nothing(tmp_path):
    """A column of the table that the metadata leave out is refused in the words of one that does not exist."""
    with open_office(tmp_path) as office:
        told = []
        for number, name in enumerate(("c", "zz")):
            changed = METADATA | {"columns": {one: METADATA["columns"][one] for one in ("y", "a", "b")}}
            body = {"metadata": changed, "source": {"data": {"root": "tables", "path": "toy.parquet"}}}
            assert office.call("cora", "POST", "/datasets/toy/versions", json=body).status_code == 201
            headers = {"Idempotency-Key": f"column-key-{number}"}
            asked = QUESTION | {"candidates": ["a", name]}
            told.append(office.call("ann", "POST", "/requests", json=asked, headers=headers).text)
        assert told[0].replace("'c'", "'zz'") == told[1]


def test_a_public_table_must_be_the_declared_one(tmp_path):
    """A public table with another digest is refused at registration; so is its absence."""
    with open_office(tmp_path) as office:
        body = _with_public(office)
        without = body | {"source": {"data": body["source"]["data"]}}
        assert office.call("cora", "POST", "/datasets", json=without).status_code == 422
        (office.folder / "public" / "volunteers.parquet").write_bytes(b"another file")
        asked = office.call("cora", "POST", "/datasets", json=body)
        assert asked.status_code in (409, 422), asked.text


def test_a_public_table_must_hold_what_is_declared(tmp_path):
    """Its header is compared at registration; which of the two tables it is stands in the refusal."""
    with open_office(tmp_path) as office:
        body = _with_public(office)
        levels = {"type": "category", "levels": ["no", "yes"], "source": "by design"}
        metadata = body["metadata"] | {"columns": body["metadata"]["columns"] | {"a": levels}}
        asked = office.call("cora", "POST", "/datasets", json=body | {"metadata": metadata})
        assert asked.status_code == 409, asked.text
        assert "In the public table: Column 'a' must hold its level 'no'" in asked.json()["detail"]
        assert office.call("cora", "POST", "/datasets", json=body).status_code == 201
