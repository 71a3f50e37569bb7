"""Speed beside named peers, in one run: `make bench`."""
