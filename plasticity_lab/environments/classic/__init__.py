"""Bodies written out here: they need NumPy alone."""
