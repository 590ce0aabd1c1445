"""Assays: what a network can still learn, measured by training copies of it beside fresh networks on the same data."""
