"""The text of a PDF that Typst made, as somebody copies it: page by page, footers left out."""

import re
import zlib

_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_FONTS_AND_LITERALS = re.compile(rb"/(f\d+) [\d.]+ Tf|\(((?:\\.|[^\\])*?)\)(?=Tj|[-\d.]*[\](])", re.DOTALL)


def text_of(document: bytes) -> str:
    """Return the text of all pages, in reading order, without white space between the pieces."""
    objects = {int(match[1]): match[2] for match in re.finditer(rb"(\d+) 0 obj\s*(.*?)endobj", document, re.DOTALL)}
    pages = re.search(rb"/Type/Pages.*?/Kids\[(.*?)\]", document, re.DOTALL)
    return "".join(_page(objects, int(number)) for number in re.findall(rb"(\d+) 0 R", pages[1]))


def _page(objects: dict[int, bytes], number: int) -> str:
    resources = objects[_reference(objects[number], b"Resources")]
    fonts = {
        name: _characters(_stream(objects[_reference(objects[int(font)], b"ToUnicode")]))
        for name, font in re.findall(rb"/(f\d+) (\d+) 0 R", resources)
    }
    content = re.sub(
        rb"/Artifact.*?EMC", b"", _stream(objects[_reference(objects[number], b"Contents")]), flags=re.DOTALL
    )
    text, font = [], {}
    for name, literal in _FONTS_AND_LITERALS.findall(content):
        if name:
            font = fonts[name]
        else:
            glyphs = _unescaped(literal)
            text += (font.get(glyphs[at : at + 2], "") for at in range(0, len(glyphs), 2))
    return "".join(text)


def _reference(dictionary: bytes, name: bytes) -> int:
    return int(re.search(rb"/" + name + rb" (\d+) 0 R", dictionary)[1])


def _stream(body: bytes) -> bytes:
    return zlib.decompressobj().decompress(body.partition(b"stream")[2].lstrip(b"\r\n"))


def _unescaped(literal: bytes) -> bytes:
    return re.sub(
        rb"\\([0-7]{1,3}|.)",
        lambda mark: bytes([int(mark[1], 8)]) if mark[1].isdigit() else _ESCAPES.get(mark[1], mark[1]),
        literal,
        flags=re.DOTALL,
    )


def _characters(table: bytes) -> dict[bytes, str]:
    """Glyph to characters, as a table of a font says."""
    pairs = {}
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", table, re.DOTALL):
        for glyph, text in re.findall(rb"<(\w+)>\s*<(\w+)>", block):
            pairs[bytes.fromhex(glyph.decode())] = bytes.fromhex(text.decode()).decode("utf-16-be")
    return pairs
