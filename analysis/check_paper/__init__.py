"""The paper checked against itself: every claim that its own printed numbers allow to be recomputed."""
