"""Perturbations that disturb a run on purpose while it learns: the choices of conf/perturbation."""
