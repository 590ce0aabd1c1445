"""Soft actor-critic: the parts of its learner."""
