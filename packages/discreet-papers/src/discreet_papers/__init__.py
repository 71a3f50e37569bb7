"""The papers' tables and figures, as printed and as they can honestly be had: on public tables, never a release."""
