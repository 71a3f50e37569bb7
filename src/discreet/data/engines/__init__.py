"""The storages that a private table can be in, a module each, and what reads them side by side."""
