"""Who is asking, and whether they may: keys, passwords, sessions, roles, limits."""
