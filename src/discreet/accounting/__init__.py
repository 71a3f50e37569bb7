"""Values of privacy accounting: no noise, no data, no disk."""
