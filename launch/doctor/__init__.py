"""What `python -m launch doctor` looks at: Slurm, store, data, W&B, from here and from a compute node."""
