"""Bodies that act, and environments of them stepped side by side. bodies.py lists them."""
