"""Identifiers in one form, whatever the storage."""

from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data import arrow_functions as pc
from discreet.data.cells import numbers
from discreet.kernels.rows.contribution_bound import mixed
from discreet.typing import Words

_WRITTEN = r"^-?[0-9]{1,400}(\.[0-9]{0,400})?([eE][-+]?[0-9]{1,3})?$"
"""A number with so many digits at most."""

HASHED_KEYS = 2**14
"""Identifiers that are hashed at once: their letters fit in a cache."""


def keys_of(values: pa.Array, as_text: bool) -> pa.Array:
    """Return identifiers in one form, whatever the storage: text or int64, null where there is none."""
    return unit_keys(values).cast(pa.large_string()) if as_text else values.cast(pa.int64())


def is_whole(kind: pa.DataType) -> bool:
    """Tell whether identifiers of a type are compared as 64-bit integers, which is fast; all others are as text."""
    return bool(pa.types.is_integer(kind) and not pa.types.is_uint64(kind))


def unit_keys(values: pa.Array) -> pa.Array:
    """Return identifiers as text, whatever the storage: 7, 7.0 and "7" are one unit; null where missing."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_decimal(values.type):  # exactly: neighbors beyond 2^53 are two units
        return _decimal_keys(pc.cast(values, pa.string()))
    if pa.types.is_floating(values.type):
        return _real_keys(numbers(values))
    return pc.cast(values, pa.string())


def number_texts(text: pa.Array) -> pa.Array:
    """Return text in which each number is written as `unit_keys` writes it; all else is left as it is."""
    is_number = pc.fill_null(pc.match_substring_regex(text, _WRITTEN), False)
    return pc.replace_with_mask(
        text, is_number, _decimal_keys(text.filter(is_number).cast(pa.string())).cast(text.type)
    )


def _decimal_keys(text: pa.Array) -> pa.Array:
    """Return all digits without zeros at the end: the same text for one number of any scale."""
    powers = pc.fill_null(pc.match_substring_regex(text, "[eE]"), False)
    if pc.any(powers).as_py():
        written = [format(Decimal(number), "f") for number in text.filter(powers).to_pylist()]
        text = pc.replace_with_mask(text, powers, pa.array(written, text.type))
    text = pc.replace_substring_regex(text, r"(\.[0-9]*?)0+$", r"\1")
    text = pc.replace_substring_regex(text, r"\.$", "")
    return pc.if_else(pc.equal(text, "-0"), "0", text)


def _real_keys(values: npt.NDArray[np.float64]) -> pa.Array:
    with np.errstate(invalid="ignore"):
        # What an integer column can hold is written as one does, so that 7 and 7.0 are one unit in any storage.
        whole = (np.abs(values) < 2.0**63) & (values == np.floor(values))
    text = pc.cast(pa.array(np.where(whole, values, 0.0).astype(np.int64)), pa.string())
    others = [
        None if np.isnan(v) else str(int(v)) if v.is_integer() else format(Decimal(repr(v)), "f")
        for v in values[~whole].tolist()
    ]
    return pc.replace_with_mask(text, pa.array(~whole), pa.array(others, pa.string())) if others else text


def parts_of(keys: pa.Array, n_parts: int) -> npt.NDArray[np.int64]:
    """Return the part in [0, n_parts) of each identifier's unit, by a public hash: a unit's rows share a part."""
    if pa.types.is_integer(keys.type):
        words = mixed(keys.to_numpy(zero_copy_only=False).view(np.uint64))
    else:
        words = _hashed(keys.cast(pa.large_string()))
    return (words % np.uint64(n_parts)).astype(np.int64)


def unit_words(keys: pa.Array) -> Words:
    """Return a public hash of each identifier as text: the same for 7, 7.0, "7" and "7.00", in any storage."""
    text = unit_texts(keys)
    parts = [_hashed(text.slice(start, HASHED_KEYS)) for start in range(0, len(text), HASHED_KEYS)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def unit_texts(keys: pa.Array) -> pa.Array:
    """Return identifiers as bytes of text, the same for 7, 7.0, "7" and "7.00", in any storage; null where missing."""
    if pa.types.is_integer(keys.type):
        return keys.cast(pa.string()).cast(pa.large_binary())
    return _without_end_zeros(keys.cast(pa.large_binary()))


def _without_end_zeros(text: pa.Array) -> pa.Array:
    """Return text in which a real number is written as `unit_keys` writes it."""
    if not pc.any(pc.match_substring(text, b".")).as_py():
        return text
    is_real = pc.match_substring_regex(text, r"^-?[0-9]+\.[0-9]*$")
    reals = _decimal_keys(text.filter(is_real).cast(pa.string()))
    return pc.replace_with_mask(text, is_real, reals.cast(pa.large_binary()))


def _hashed(text: pa.Array) -> Words:
    """Return a sum over the bytes of each text, every one mixed with its place."""
    _, offsets, data = text.buffers()
    # A slice has the buffers of the whole array: its own offsets begin at `text.offset`, and count from the whole's
    # start.
    ends = np.frombuffer(offsets, dtype=np.int64, count=len(text) + 1 + text.offset)[text.offset :]
    letters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]] if len(data or b"") else np.empty(0, np.uint8)
    lengths = np.diff(ends)
    place = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], lengths)
    words = np.zeros(len(text), dtype=np.uint64)
    filled = lengths > 0
    if filled.any():
        mixture = mixed(letters + 256 * place.astype(np.uint64))
        # Of an empty stretch `reduceat` returns the next one's first entry: empty texts are left out, and have the word
        # 0.
        words[filled] = np.add.reduceat(mixture, (ends[:-1] - ends[0])[filled])
    return mixed(words)
