"""M-estimators on weighted public records, and the private choice of their subset (Wang et al.)."""
