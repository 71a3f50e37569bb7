"""What every method shares: its life from request to release, ranges of parameters, private bounds."""
