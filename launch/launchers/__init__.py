"""Launchers: they start workers, on this machine or on Slurm, and report how the workers ended."""
