"""Procgen's games (Cobbe et al. 2020), by a process of their own Python."""
