"""The only code that meets noise; each function stands beside its claim, NAME.privacy.md."""
