"""Where the values of shape parameters and learning rates come from: published, a grid, or selected."""
