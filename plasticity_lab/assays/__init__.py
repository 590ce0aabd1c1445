"""Assays: can a network still learn? Copies of it and fresh networks are trained on the same data."""
