"""The only process that opens private tables."""
