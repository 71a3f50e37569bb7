"""The guarantee tested from outside: worst pairs of each mechanism and method, and controls that must be flagged."""
