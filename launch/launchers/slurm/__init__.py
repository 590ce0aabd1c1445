"""Sweeps on a Slurm cluster: submitit submits an array of identical workers, which take the packs of a plan."""
