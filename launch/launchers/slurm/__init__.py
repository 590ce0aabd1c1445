"""Sweeps on a Slurm cluster: an array of identical workers, submitted with submitit, that pull the packs of a plan."""
