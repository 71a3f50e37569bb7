"""Cells as hypothesis draws them: numbers at the ends, text that is a number and text that only looks like one."""

import math

from hypothesis import strategies as st

FLOATS = st.floats(allow_subnormal=True) | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1e308, 5e-324])
WORDS = ["1", "+1", "-3", " 2.5 ", "2.50", ".5", "5.", "1e5", "1E-5", "1e400", "1e-400", "-0", "0x10", "1_0", "5e"]
ODDITIES = [
    "",
    " ",
    "x",
    "a",
    "b",
    "true",
    "FALSE",
    "True ",
    "nan",
    "inf",
    "-Infinity",
    "\u00a01",
    "１",
    "1\n2",
    "\t1\r\n",
]
TEXTS = st.sampled_from(WORDS + ODDITIES) | st.text(max_size=6) | st.floats().map(repr) | st.integers().map(str)
