"""Authentication and authorization: keys, passwords, sessions, roles, limits."""
