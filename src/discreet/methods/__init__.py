"""One family of private methods a file, each beside its claim, NAME.privacy.md."""
