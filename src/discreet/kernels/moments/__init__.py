"""Exact sums of products of integers: every moment of a table, whatever the order of its rows."""
