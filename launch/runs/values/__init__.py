"""The sources of shape parameters and learning rates: published tables, a grid, or a selection."""
