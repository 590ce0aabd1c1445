"""Games on boards, written out here: they need NumPy alone."""
