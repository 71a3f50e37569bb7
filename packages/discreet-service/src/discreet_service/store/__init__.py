"""The service's own rows: one module a table, each function inside the caller's transaction."""
