"""Soft actor-critic: what its learner is made of."""
