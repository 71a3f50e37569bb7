"""Records of CSV files: whatever a person's record holds, it is one row, and no other row changes."""

import csv
import io
import re
import tracemalloc
from functools import cache
from pathlib import Path

import duckdb
import pytest
from tests.effort import either

from discreet.data.engines import csv_file
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import DataMismatchError
from discreet.mechanisms.rng import Source

METADATA = Metadata.from_value(
    {"dataset": "d", "unit": "p", "neighboring": "add_or_remove_one", "columns": {"c0": {"type": "real"}}}
)
WIDTHS = {"narrow": 3, "wide": 260}
"""Numbers of columns: the second is one that was once read by another parser."""
TEXT = [b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"\n1,2,3\n", b" ", b"a", b"7"]
PIECES = [*TEXT, b"\x00", b"\xef\xbb\xbf", b"\xff", b"\xc3"]


def quoted(content):
    return b'"' + content.replace(b'"', b'""') + b'"'


def neighbors(width):
    """Records of other people, as a program writes them that quotes what RFC 4180 has quoted."""
    notes = [b"plain", b"7.5", quoted(b'says "no", twice'), quoted(b"two\nlines, both hers"), b"", quoted(b'""')]
    filler = b"," * (width - 3)
    return [b"%d,%s,end%s" % (i, notes[i % len(notes)], filler) for i in range(12)]


def written(path, width, records, ends=b"\n"):
    header = b",".join(b"c%d" % i for i in range(width))
    path.unlink(
        missing_ok=True
    )  # a file that is made anew need not wait for the disk, as one that is cut to nothing does
    path.write_bytes(ends.join([header, *records, b""]))
    return path


def rows_of(path):
    """The first three cells of the rows and the last, as the product reads them."""
    table = open_table(path, METADATA)
    names = [name for name, _ in table.header()]
    batches = list(table.batches([*names[:3], names[-1]]))
    for batch in batches:
        batch.validate(full=True)
    return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


def once_wide(path):
    """How files of many columns were read once: what the library cannot read is passed over where it stopped."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file)
        next(reader)
        rows = []
        while True:
            try:
                record = next(reader)
            except StopIteration:
                return rows
            except csv.Error:
                continue
            if record:
                rows.append(tuple(cell or None for cell in record))


def once_narrow(path):
    """How files of few columns were read once."""
    with path.open(encoding="latin-1") as file:
        header = file.readline().strip().split(",")
    types = ", ".join(f"'{name}': 'VARCHAR'" for name in header)
    with duckdb.connect() as connection:
        return connection.execute(
            f"SELECT * FROM read_csv('{path}', auto_detect=false, header=true, delim=',', quote='\"', escape='\"', "
            f"columns={{{types}}}, null_padding=true, ignore_errors=true, strict_mode=false, parallel=false, "
            f"hive_partitioning=false, max_line_size={2**24}, nullstr='')"
        ).fetchall()


@cache
def rows_before(folder, width, read):
    """The rows of the neighbors alone."""
    return read(written(folder / f"{width}.csv", width, neighbors(width)))


def harm(folder, width, record, read=rows_of):
    """What a record does to a table in whose middle it is put: nothing, or what is wrong."""
    before, others = rows_before(folder, width, read), neighbors(width)
    after = read(written(folder / "t.csv", width, [*others[:7], record, *others[7:]]))
    more = len(after) - len(before)
    if not 0 <= more <= 1:
        return f"{more} rows more"
    return None if after[:7] + after[7 + more :] == before else "another row has changed"


def hostile(number, most=11):
    """Contents of a cell that are made of what a parser trips over."""
    words = Source.seeded(number).words(1 + most)
    return b"".join(PIECES[int(word) % len(PIECES)] for word in words[1 : 1 + int(words[0]) % (most + 1)])


def text_of(cell):
    """A cell as it should be read: missing where it is empty or no text."""
    try:
        return cell.decode() or None
    except UnicodeDecodeError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_whatever_is_in_quotes_is_one_row(width, tmp_path):
    """A thousand records of arbitrary bytes at each width: a row each, with its cells, missing where no text."""
    contents = [(hostile(2 * i), hostile(2 * i + 1)) for i in range(either(1000, 20_000))]
    records = [quoted(first) + b"," + quoted(second) + b",end" + b"," * (width - 3) for first, second in contents]
    for record in records:
        assert harm(tmp_path, width, record) is None, record
    expected = [(text_of(first), text_of(second), "end") for first, second in contents]
    for ends in (b"\n", b"\r\n"):
        assert [row[:3] for row in rows_of(written(tmp_path / "all.csv", width, records, ends))] == expected


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_a_line_that_breaks_the_rules_harms_itself_alone(width, tmp_path):
    """A thousand lines of arbitrary bytes at each width, quotes left open among them: at most a row."""
    for i in range(either(1000, 20_000)):
        line = hostile(i).replace(b"\n", b"") + b"," + hostile(i + 10**6).replace(b"\n", b"")
        assert harm(tmp_path, width, line) is None, line


LARGE = {
    "lines": b"1,2,3\n",
    "quotes": b'"',
    "quoted lines": b'"1","2"\n',
    "lines of another system": b"1,2,3\r\n",
    "NUL": b"\x00",
    "carriage returns": b"1,2,3\r",
    "byte order marks": b"\xef\xbb\xbf1,2\n",
    "no text": b"\xff\xfe,\n",
    "commas": b",",
    "line feeds": b"\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("content", LARGE)
def test_whatever_is_in_large_quotes_is_at_most_one_row(content, width, tmp_path):
    """Twenty records at each width, from where parsers give up to forty megabytes: a row, or where too long none."""
    huge = 40_000_000 if content in either(("lines", "quotes"), LARGE) else 2_000_000
    for size in (150_000, huge):
        times = size // len(LARGE[content].replace(b'"', b'""'))
        record = b"1," + quoted(LARGE[content] * times) + b",end"
        assert harm(tmp_path, width, record) is None
        assert (len(record) > csv_file.MAX_RECORD) == (len(rows_of(tmp_path / "t.csv")) == 12)
    (tmp_path / "t.csv").unlink()


@pytest.mark.parametrize("size", [10, 200_000, 20_000_000])
def test_a_quote_that_is_never_closed_harms_its_line_alone(size, tmp_path):
    """Those that follow are read, though the reader looks for its end till the end of the file."""
    for ends in (b"", b"\n" * 1000, b"5,6,7\n" * 10_000):
        path = written(tmp_path / "t.csv", 3, [b'1,"' + b"x" * size, b"2,3,4"])
        with path.open("ab") as file:
            file.write(ends)
        assert rows_of(path) == [("2", "3", "4", "4"), *[("5", "6", "7", "7")] * (ends.count(b"5"))]


class Counted(io.FileIO):
    """A file that counts how much of it is read."""

    n_bytes = 0

    def read(self, size=-1):
        data = super().read(size)
        Counted.n_bytes += len(data)
        return data


def test_no_byte_is_read_more_than_twice(tmp_path, monkeypatch):
    """Though every five hundred lines one leaves a quote open, and its end is looked for in all that follow."""
    path = written(tmp_path / "t.csv", 3, [b'1,"open', *[b'x""y,2,""'] * 500] * 6)
    usual = Path.open
    for limit, n_bytes in {"PIECE": 100, "MAX_RECORD": 50, "BYTES_A_COLUMN": 0}.items():
        monkeypatch.setattr(csv_file, limit, n_bytes)
    monkeypatch.setattr(Counted, "n_bytes", 0)
    monkeypatch.setattr(
        Path, "open", lambda this, *how, **more: Counted(this) if this == path else usual(this, *how, **more)
    )
    assert rows_of(path) == [('x""y', "2", None, None)] * 3000
    assert path.stat().st_size < Counted.n_bytes < 2.2 * path.stat().st_size


@pytest.mark.processes
def test_a_record_is_held_in_little_memory(tmp_path):
    """However long it is: 200 MB in quotes that are closed, and 200 MB in quotes that are not."""
    for closing, n_rows in ((b'"\n', 2), (b"\n", 1)):
        path = written(tmp_path / "t.csv", 3, [b"1,2,3"])
        with path.open("ab") as file:
            file.write(b'1,"')
            file.truncate(200_000_000)
        with path.open("ab") as file:
            file.write(closing + (b"4,5,6\n" if n_rows == 2 else b""))
        rows_of(written(tmp_path / "small.csv", 3, [b"1,2,3"]))  # loads what is loaded once
        tracemalloc.start()
        try:
            assert len(rows_of(path)) == n_rows
            assert tracemalloc.get_traced_memory()[1] < 80_000_000
        finally:
            tracemalloc.stop()


CELL = rb'(?:"(?:[^"]|"")*"(?!")%s|%s|)'
PROPER, ODD = CELL % (b"", rb'[^",\n]+'), CELL % (rb"[^,\n]*", rb'[^",\n][^,\n]*')
STRICT = re.compile(rb"%s(?:,%s)*\r?(?:\n|\Z)" % (PROPER, PROPER))
LENIENT = re.compile(b"%s(?:,%s)*" % (ODD, ODD))
"""Records of RFC 4180, and lines that leave no quote open."""


def by_the_rules(body, longest):
    """The records of a file's text: the same rules, in expressions and the library's parser instead of a machine."""
    rows, at = [], 0
    while at < len(body):
        line = body[at : body.find(b"\n", at) + 1 or len(body)]
        whole = LENIENT.fullmatch(line.removesuffix(b"\n")) or STRICT.match(body, at)
        record = line if whole is None else whole.group().removesuffix(b"\n").removesuffix(b"\r")
        at += len(line) if whole is None or whole.re is LENIENT else len(whole.group())
        if whole is not None and 0 < len(record) <= longest:
            text = record.decode("latin-1").replace("\r", "\ue00d").replace("\x00", "\ue000")
            (cells,) = csv.reader(text.splitlines(keepends=True) if "\n" in text else [text])
            raw = [cell.replace("\ue00d", "\r").replace("\ue000", "\x00").encode("latin-1") for cell in cells]
            rows.append(tuple(text_of(cell) for cell in [*raw, b"", b"", b""][:3]))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("piece", [1, 2, 7, 2**22])
def test_few_and_many_columns_make_the_same_records(piece, tmp_path, monkeypatch):
    """Of any bytes, in any pieces, with any limit of their length: those that the rules have."""
    monkeypatch.setattr(csv_file, "PIECE", piece)
    monkeypatch.setattr(csv_file, "BYTES_A_COLUMN", 0)
    path = tmp_path / "t.csv"
    for i in range(either(200, 5000)):
        body, longest = hostile(10**7 * piece + i, 40), (2, 5, 20, 2**24)[i % 4]
        monkeypatch.setattr(csv_file, "MAX_RECORD", longest)
        expected = by_the_rules(body, longest)
        for width in WIDTHS.values():
            written(path, width, [])
            with path.open("ab") as file:
                file.write(body)
            assert [row[:3] for row in rows_of(path)] == expected, (body, longest)


HEADERS = {
    "lines of another system": b"c0,c1\r1,2\r",
    "a quote left open": b'"c0,c1\n1,2\n',
    "text behind a quote": b'"c0" x,c1\n1,2\n',
    "no text": b"c0,\xff\n1,2\n",
    "empty": b"\r\n1,2\n",
    "too long": b"c0,c1" * 20,
    "too long in quotes": b'"c0\n' * 20,
}


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_that_is_none_is_refused(header, tmp_path, monkeypatch):
    """In one line that shows nothing of it, and without reading on to the end of the file."""
    monkeypatch.setattr(csv_file, "MAX_HEADER", 40)
    (tmp_path / "t.csv").write_bytes(HEADERS[header])
    words = "'t.csv' is not a readable CSV file: its header cannot be read. Write the file again, or choose another."
    with pytest.raises(DataMismatchError, match=f"^{re.escape(words)}$"):
        open_table(tmp_path / "t.csv", METADATA)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_header_may_hold_anything_in_quotes(delimiter, tmp_path):
    """Line breaks, delimiters and quotes, behind a byte order mark; rows begin behind it."""
    path = tmp_path / "t.csv"
    path.write_bytes(
        f'\ufeff"a ""b""|"{delimiter}c{delimiter}"in,come;,;\n(|EUR)"\r\n1{delimiter}2{delimiter}3'.encode()
    )
    table = open_table(path, METADATA)
    assert [name for name, _ in table.header()] == ['a "b"|', "c", "in,come;,;\n(|EUR)"]
    assert rows_of(path) == [("1", "2", "3", "3")]


def test_once_a_record_became_thousands(tmp_path):
    """Control: the same checks flag both readers that were here once, by what is in quotes and by what is not."""
    large = b"1," + quoted(LARGE["lines"] * 25_000) + b",end"
    assert harm(tmp_path, WIDTHS["wide"], large) is None
    assert re.fullmatch("[0-9]{4,} rows more", harm(tmp_path, WIDTHS["wide"], large, once_wide))
    lines = [hostile(i).replace(b"\n", b"") for i in range(300)]
    for width, read in (("wide", once_wide), ("narrow", once_narrow)):
        assert any(harm(tmp_path, WIDTHS[width], line, read) for line in lines)
