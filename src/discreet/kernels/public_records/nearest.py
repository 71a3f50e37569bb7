"""The nearest public point of each private row, exactly: integers decide, floats only rule points out.

The squared distance of two rows is the sum of the squared gaps of their numeric cells, plus (2 * 32767)^2 for each
category column whose codes differ; the code -1, a cell of no level, is a code like the others. A row's nearest point
is a function of that row and the points alone: the same in any order, by any blocks, threads or path below.
"""

import importlib
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Integers

CATEGORY_COST = 4 * GRID**2
"""Squared distance of two codes that differ: that of the ends of a numeric column, whose cells lie in [-GRID, GRID]."""

COMPILE_FROM = 10**8
"""Cells compared, rows times points times columns, from which loading compiled code pays."""

TABLE_SIZE = 2**20
"""Most entries of a table of answers."""

TREE_SHARE = 1 / 32
"""A tree pays where it looks at less than this share of the points."""

LANES = (4, 6, 8)
"""Numbers of columns that a processor compares at once."""

CELL_COLUMNS = 3
"""Most columns for which space is cut into cells."""

CELLS_FROM = 4
"""Rows seen for each cell from which listing its points pays."""

BLOCK = 384
"""Rows and points of one product: as float32 it fits a core's second cache."""

FAR = np.iinfo(np.int64).max


def plain_improve(
    rows: Cells, points: Cells, labels: Integers, n_numeric: int, best: Integers, nearest: Integers
) -> None:
    """Update each row's nearest point, and its squared distance, by more points; in array code.

    Shapes: rows (n, p), points (m, p), labels (m,), best (n,), nearest (n,).
    """
    if len(points) == 0:
        return
    right = points[:, :n_numeric].astype(np.float64)
    squares = np.einsum("ij,ij->i", right, right)
    step = max(1, 2**20 // len(points))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        left = part[:, :n_numeric].astype(np.float64)
        near = squares - 2.0 * (left @ right.T)  # exact: its partial sums are integers below 2^53, for p below 2^20
        for j in range(n_numeric, rows.shape[1]):
            near += np.where(part[:, j, None] != points[None, :, j], float(CATEGORY_COST), 0.0)
        place = near.argmin(axis=1)
        least = near[np.arange(len(part)), place] + np.einsum("ij,ij->i", left, left)
        distance, label = least.astype(np.int64), labels[place]
        old_best, old_nearest = best[start : start + step], nearest[start : start + step]
        better = (distance < old_best) | ((distance == old_best) & (label < old_nearest))
        old_best[better], old_nearest[better] = distance[better], label[better]


class Filter:
    """Compares rows with points by float32 products about a center, and by integers where those do not decide.

    Parameters
    ----------
    points : ndarray of int16, shape (m, p)
        Numeric cells, then codes.
    labels : ndarray of int64, shape (m,)
        Numbers of the points; the smaller wins a tie.
    n_numeric : int
        Number of numeric columns.

    Notes
    -----
    With x and y the integers about the center, near = |y|^2 / 2 - x.y + (cost / 2) (codes that differ) is half the
    squared distance less |x|^2 / 2. It is a sum of N = n_numeric + 1 + categories terms, each a rounded number or a
    rounded product: in any order and with or without fused multiply-add, float32 errs by at most g = (N + 2) u /
    (1 - (N + 2) u) times the sum of the terms' magnitudes, u = 2^-24, itself at most |y|^2 / 2 + |x| |y| + (cost / 2)
    categories. A point whose float32 value exceeds the best exact one by more cannot win or tie.

    References
    ----------
    Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1.
    """

    def __init__(self, points: Cells, labels: Integers, n_numeric: int) -> None:
        self.points, self.labels, self.n_numeric = np.ascontiguousarray(points), labels, n_numeric
        numeric = points[:, :n_numeric]
        self._center = np.rint(numeric.mean(axis=0, dtype=np.float64)).astype(np.int32)
        about = numeric - self._center
        squares = np.einsum("ij,ij->i", about, about, dtype=np.int64)
        self._reach = float(squares.max(initial=0)) * (1 + 2.0**-50)
        terms = (points.shape[1] + 3) * 2.0**-24
        self._unit = terms / (1 - terms) * (1 + 2.0**-20)  # g of the notes, with room for its own rounding
        self._right = np.empty((len(points), n_numeric + 1), dtype=np.float32)
        self._right[:, :-1] = -about
        self._right[:, -1] = squares / 2.0
        self._compiled = importlib.import_module("discreet.kernels.public_records.nearest_compiled")

    def improve(self, rows: Cells, start: int, stop: int, best: Integers, nearest: Integers) -> None:
        """Update each row's nearest point by the points `start` to `stop` - 1.

        Shapes: rows (n, p), best (n,), nearest (n,).
        """
        room = np.empty(BLOCK * BLOCK, dtype=np.float32)
        category_cost = 0.5 * CATEGORY_COST * (rows.shape[1] - self.n_numeric)
        for row in range(0, len(rows), BLOCK):
            part = slice(row, min(row + BLOCK, len(rows)))
            left = np.ones((part.stop - row, self.n_numeric + 1), dtype=np.float32)
            left[:, :-1] = rows[part, : self.n_numeric] - self._center
            squares = np.einsum("ij,ij->i", left[:, :-1], left[:, :-1], dtype=np.float64)
            slacks = self._unit * (0.5 * self._reach + np.sqrt(squares * self._reach) + category_cost)
            for point in range(start, stop, BLOCK):
                block = slice(point, min(point + BLOCK, stop))
                near = room[: len(left) * (block.stop - point)].reshape(len(left), -1)
                np.matmul(left, self._right[block].T, out=near)
                self._compiled.improve(
                    near, rows[part], self.points[block], self.labels[block], self.n_numeric,
                    squares, slacks, best[part], nearest[part],
                )  # fmt: skip


class _Tree:
    """Boxes within boxes; `share` is the part of the points that a search compares, measured on the points."""

    def __init__(self, points: Cells, labels: Integers, n_numeric: int) -> None:
        self._compiled = importlib.import_module("discreet.kernels.public_records.nearest_tree_compiled")
        p = points.shape[1]
        # So many columns, empty ones among them, are compared at once.
        self._lanes = (0,) * next((width for width in LANES if n_numeric == p <= width), 0)
        points = self._widened(points)
        self._n_numeric = points.shape[1] if self._lanes else n_numeric
        order, *self._nodes = self._compiled.grow(points, self._n_numeric)
        self._points, self._labels = points[order], labels[order]
        probes = np.ascontiguousarray(points[:: max(1, len(points) // 256)])
        self.share = self._search(probes, self._labels, leave_out=True)[1] / (len(probes) * len(points))
        self._n_cell_columns = p if n_numeric == p <= CELL_COLUMNS else 0
        self._bits = min((4 * len(points)).bit_length() // p, 16) if self._n_cell_columns else 0

    def _widened(self, cells: Cells) -> Cells:
        """Return rows or points with empty columns at the end, where there are lanes."""
        if cells.shape[1] >= len(self._lanes):
            return cells
        wide = np.zeros((len(cells), len(self._lanes)), dtype=np.int16)
        wide[:, : cells.shape[1]] = cells
        return wide

    def _search(self, rows: Cells, labels: Integers, leave_out: bool) -> tuple[Integers, int]:
        nearest = np.empty(len(rows), dtype=np.int64)
        tree = (self._points, labels, *self._nodes, self._n_numeric, self._lanes)
        return nearest, self._compiled.search(rows, *tree, leave_out, nearest)

    @cached_property
    def _cells(self) -> tuple[Integers, npt.NDArray[np.int32]]:
        """List for each cell of space the points that can be nearest; about four cells a point."""
        p, width = self._n_cell_columns, 2 ** (16 - self._bits)
        cells = np.arange(2 ** (self._bits * p))[:, None] >> (self._bits * np.arange(p))
        middles = ((cells % 2**self._bits) * width + width // 2 - 32768).astype(np.int16)
        seeds, _ = self._search(self._widened(middles), np.arange(len(self._points)), leave_out=False)
        listed: tuple[Integers, npt.NDArray[np.int32]] = self._compiled.list_cells(
            self._points, seeds, *self._nodes, p, self._bits
        )
        return listed

    def nearest(self, rows: Cells, n_seen: int) -> Integers:
        """Search the tree, or look cells up once enough rows came to repay their lists."""
        rows = self._widened(rows)
        if not self._bits or n_seen < CELLS_FROM * 2 ** (self._bits * self._n_cell_columns):
            return self._search(rows, self._labels, leave_out=False)[0]
        nearest = np.empty(len(rows), dtype=np.int64)
        tree = (self._points, self._labels, *self._nodes, self._n_numeric, self._lanes)
        self._compiled.look_up(rows, *tree, *self._cells, self._n_cell_columns, self._bits, nearest)
        return nearest


class NearestPoints:
    """Public points, among which each private row finds its nearest.

    Parameters
    ----------
    points : ndarray of int16, shape (m, p)
        At least one; numeric cells in [-32767, 32767], then codes of categories, at least -1.
    n_numeric : int
        Number of numeric columns.

    Notes
    -----
    What is built, and when, changes no answer: array code first; with `COMPILE_FROM` cells compared, a tree where a
    trial on the points themselves finds that it looks at few of them, else float32 products that rule points out. For
    very many rows of three numeric columns or fewer, lists of the points that can be nearest in each cell of space.
    Where all columns are categories and have few combinations of codes, a table of the answers.

    Examples
    --------
    >>> points = NearestPoints(np.array([[0, 0], [10, 10]], dtype=np.int16), 2)
    >>> points.nearest(np.array([[9, 2], [5, 5], [9, 9]], dtype=np.int16))
    array([1, 0, 1])
    """

    def __init__(self, points: Cells, n_numeric: int) -> None:
        points = np.ascontiguousarray(points, dtype=np.int16)
        self._m, self._n_numeric = len(points), n_numeric
        first = np.unique(points, axis=0, return_index=True)[1] if points.shape[1] else np.zeros(1, dtype=np.int64)
        self._labels = np.sort(first).astype(np.int64)
        self._points = points[self._labels]
        self._n_seen = 0  # two threads may lose a count, which changes no answer

    @cached_property
    def _table_size(self) -> int:
        """Combinations of a row's codes, those of no point counted once a column; 0 where a table cannot serve."""
        if self._n_numeric or not self._points.shape[1]:
            return 0
        size = 1
        for column in self._points.T:
            size *= len(np.unique(column)) + 1
            if size > TABLE_SIZE:
                return 0
        return size

    @cached_property
    def _tree(self) -> _Tree:
        return _Tree(self._points, self._labels, self._n_numeric)

    @cached_property
    def _filter(self) -> Filter:
        return Filter(self._points, self._labels, self._n_numeric)

    @cached_property
    def _table(self) -> tuple[npt.NDArray[np.int32], Integers]:
        """Each column's places of its codes in the table, and the table of nearest labels."""
        codes = [np.unique(column) for column in self._points.T]
        shape = tuple(len(c) + 1 for c in codes)
        strides = np.cumprod((1, *shape[:0:-1]))[::-1]
        places = np.empty((len(codes), 2**16), dtype=np.int32)
        for place, code, stride in zip(places, codes, strides, strict=True):
            place[:] = len(code) * stride
            place[code] = np.arange(len(code)) * stride  # a negative code counts from the end, here and below
        # An entry is (codes that differ) 2^32 + label. A column at a time, it becomes the least of itself and, one code
        # more, of all that differ in that column.
        table = np.full(self._table_size, 2**62, dtype=np.int64)
        table[_look(places, self._points)] = self._labels
        for size, stride in zip(shape, strides, strict=True):
            lines = table.reshape(-1, size, stride)
            np.minimum(lines, lines.min(axis=1, keepdims=True) + 2**32, out=lines)
        return places, table & (2**32 - 1)

    def nearest(self, rows: Cells) -> Integers:
        """Return the place of each row's nearest point, the smallest of those as near. Cost: O(n m p) at most.

        Safe in several threads; their caller limits BLAS to one thread each, else its threads and theirs wait for each
        other.
        Shapes: rows (n, p); returns (n,).
        """
        rows = np.ascontiguousarray(rows, dtype=np.int16)
        self._n_seen += len(rows)
        compared = self._n_seen * self._points.size
        if 0 < self._table_size <= compared:
            return self._by_table(rows)
        if compared < COMPILE_FROM:
            return self._by_arrays(rows)
        return self._tree.nearest(rows, self._n_seen) if self._tree.share < TREE_SHARE else self._by_filter(rows)

    def _by_table(self, rows: Cells) -> Integers:
        places, table = self._table
        return table[_look(places, rows)]

    def _by_arrays(self, rows: Cells) -> Integers:
        best, nearest = no_nearest(len(rows))
        plain_improve(rows, self._points, self._labels, self._n_numeric, best, nearest)
        return nearest

    def _by_filter(self, rows: Cells) -> Integers:
        best, nearest = no_nearest(len(rows))
        self._filter.improve(rows, 0, len(self._points), best, nearest)
        return nearest


def no_nearest(n: int) -> tuple[Integers, Integers]:
    """Return squared distances and labels beyond all, of rows not yet compared with any point."""
    return np.full(n, FAR, dtype=np.int64), np.full(n, FAR, dtype=np.int64)


def _look(places: npt.NDArray[np.int32], rows: Cells) -> npt.NDArray[np.int32]:
    """Add up the rows' places in a table."""
    total = np.zeros(len(rows), dtype=np.int32)
    for place, column in zip(places, rows.T, strict=True):
        total += place[column]
    return total
