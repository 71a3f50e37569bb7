"""Metadata in the words of other systems: CSVW-EO and SmartNoise."""
