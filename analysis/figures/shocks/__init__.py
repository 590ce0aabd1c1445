"""Figures 2, 3, 4 and D1: what shocks leave behind, by group of activations and by factor."""
