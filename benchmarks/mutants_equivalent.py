"""Faults that have no effect on what the product does, so that no test can find them; each with its reason."""

GUARD = "a loop that no input enters: the bound before it leaves a factor of 2"
NO_CALLER = "no caller comes here with such a value: all check before, or give their own"
SEARCH = "how a search comes to a number, which then has to pass the very test that counts"
WIDER = "a margin for rounding wider than needed, far below one step of 1e-9"

BLOCKS = "a number of rows at once: sums are exact, so that it changes the speed alone"
HASH = "another public hash of identifiers, which shares units out as well"
SPEED = "where the search puts its work next: it changes the time, not the law"
MARGIN = "a margin for rounding that holds with one digit less as well"
DIGITS = "an error stated larger than it is: digits are asked for more often, and decide as before"

EQUIVALENT: dict[tuple[str, str], str] = {
    ("gaussian", "high -= 1"): GUARD,
    ("gaussian", "high += 0"): GUARD,
    ("gaussian", "high += 2"): GUARD,
    ("gaussian", "if epsilon < -1:"): NO_CALLER,
    ("gaussian", "error = (_MILLS_ERROR + 5 * _ROUNDING * b * (1.0 + max(-a, 0.0))) * at_a"): WIDER,
    ("gaussian", "error = (_MILLS_ERROR + 4 * _ROUNDING * b * (1.0 + max(-a, 1.0))) * at_a"): WIDER,
    ("gaussian", "if delta <= 0 or rho >= 10 ** 6:"): "there the search comes to a cost that counts as none, too",
    ("gaussian", "first = max(1, math.ceil(shift / STEP))"): SEARCH,
    ("zcdp", "too_much = rho(middle) * (1.0 + 2.0 * middle) - math.log1p(1.0 / middle) >= epsilon"): SEARCH,
    ("gaussian", "for _ in range(59):"): SEARCH,
    ("gaussian", "rho, shrink = (total - other_rho, Fraction(1, 2 ** 49))"): SEARCH,
    (
        "gaussian",
        "error = (_MILLS_ERROR + 4 * _ROUNDING * b * (1.0 - max(-a, 0.0))) * at_a",
    ): "with the margin of a^2 / 2 it still covers two roundings of b in log(1 - Phi(a)), whose slope is below 1",
    (
        "gaussian",
        "return log_gap + margin < log_delta - 4 * _ROUNDING * (1.0 - log_delta)",
    ): "where two floats with their margins are equal either answer is safe, and differs by one step of 1e-9",
    ("zcdp", "for _ in range(199):"): SEARCH,
    (
        "zcdp",
        "best, shrink = (_best_rho(float(steps * STEP), -log_of(min(delta_value, MOST_DELTA))), 2.0 ** (-45))",
    ): SEARCH,
    ("zcdp", "shrink *= 4.0"): SEARCH,
    ("zcdp", "for _ in range(61):"): SEARCH,
    ("zcdp", "for _ in range(59):"): SEARCH,
    ("zcdp", "low, high = (1e-06, math.expm1(min(log_inverse_delta, 600.0)))"): SEARCH,
    ("gaussian", "low, high = (first - 1, first + math.ceil(Fraction(reach) / STEP) + 2)"): SEARCH,
    (
        "design",
        "_one_hot(level_codes(values, column), cells[:, at:at + width + 1])",
    ): "writes zeros into the next column, which is written after that",
    (
        "design",
        "result: npt.NDArray[np.int64] = pc.fill_null(indices, -2).to_numpy(zero_copy_only=False).astype(np.int64)",
    ): "any negative code is that of no level",
    (
        "leaders",
        "return difference(rational(ahead), log_sum(None, [uniform], log_of(2)))",
    ): "moves all that are compared by the same number",
    ("subset_race", "least: int = -1"): "set before it is read",
    ("subset_race", "region.start, region.n_points = (region.next, region.n_points + 2)"): SPEED,
    ("subset_race", "return region.n_points < 4 * POINTS"): SPEED,
    (
        "lipschitz_race",
        "error = context.multiply(context.power(Decimal(10), 5 - digits), context.abs(value))",
    ): MARGIN,
    ("race_noise", "value, error = (-1600.0 if value < 0 else 0.0, math.inf)"): DIGITS,
    ("reals", "digits = 41"): DIGITS,
    ("reals", "return Real(value, error if gap_error <= 0.1 * gap else math.inf, enclose)"): DIGITS,
    ("lipschitz_race", "return Real(value, 2.0 ** (-51) * abs(value), enclose)"): DIGITS,
    (
        "postings",
        "age = timedelta(seconds=min(older_than_s, 15000000000.0))",
    ): "an age of hundreds of years, older than any entry, either way",
    (
        "reader",
        "def __init__(self, location: str | Path | None=None, *, pooled: bool=True, "
        "witness: str | Path | None=None) -> None:",
    ): NO_CALLER,
    (
        "witness",
        "handle = os.open(folder, (os.O_RDONLY | os.O_DIRECTORY) & os.O_CLOEXEC)",
    ): "a folder is opened for reading all the same",
    ("witness", "_NEWEST_BYTES = 2 ** 15"): "how many of the newest lines are read: still more than there are writers",
    (
        "rng",
        "return self._generator.integers(1, 2 ** 64, size=count, dtype=np.uint64)",
    ): "a word of 0 has a chance of 2^-64, and seeded sources are for simulations alone",
    ("selection", "MOST_BITS = 2 ** 15"): "numbers that agree in either many bits come from a source that is broken",
    (
        "selection",
        "behind = np.clip((scores / 2 - reference * 2) * (2 * slope), -1e+300, 1e+300)",
    ): "moves all that are compared by the same number",
    (
        "subset_points",
        "tails = _tails(weights, limit, digits) if limit > 0 else [[Decimal(1)]] * (len(weights) + 1)",
    ): "where no unit may be in, the tails are one number for all that fits",
    ("subset_race", "return region.n_points < 5 / POINTS"): SPEED,
    ("top_k", "if values.size <= SMALL and k < SMALL_SETS:"): "which of two exact races draws",
    ("row_pass", "BLOCK_ROWS = 2 * 16"): BLOCKS,
    ("unit_keys", "HASHED_KEYS = 2 * 14"): BLOCKS,
    ("row_pass", "if n_parts == 0:"): "a short cut: rows of nobody are left out here or when they are added",
    (
        "unit_keys",
        "letters = np.frombuffer(data, dtype=np.uint8)[ends[0]:ends[-1]] if len(data or b'') "
        "else np.empty(1, np.uint8)",
    ): "without letters they are not looked at",
    ("unit_keys", "mixture = mixed(letters + 257 * place.astype(np.uint64))"): HASH,
    ("unit_keys", "mixture = mixed(letters + 255 * place.astype(np.uint64))"): HASH,
    (
        "unit_keys",
        "whole = (np.abs(values) < 2.0 ** 62) & (values == np.floor(values))",
    ): "a short cut: the other way writes the same digits",
}
"""By the module's name and the line with the fault in it."""
