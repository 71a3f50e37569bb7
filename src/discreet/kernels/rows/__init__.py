"""Cells and rows before they are summed: a CSV file's records, the rows of a unit, one core for each process."""
