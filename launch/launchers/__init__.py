"""What starts workers, here or on Slurm, and reports how they ended."""
