"""A release in words and pictures; knows no method and no data."""
