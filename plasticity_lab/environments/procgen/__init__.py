"""Procgen's games (Cobbe et al. 2020), stepped by a process with a separate Python."""
