"""M-estimates on public records: the nearest record of each row, weights, contrasts."""
