"""Simulations of accuracy: in processes of their own, within limits, a fair share for each person."""
