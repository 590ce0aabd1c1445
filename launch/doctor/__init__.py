"""The checks of `python -m launch doctor`: Slurm, store, data and W&B, from here and from a compute node."""
