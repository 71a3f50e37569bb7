"""The only code that draws noise; beside each function lies its claim, NAME.privacy.md."""
