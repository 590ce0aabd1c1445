"""Figures 2, 3, 4 and D1: the effect of shocks, by group of activations and by factor."""
