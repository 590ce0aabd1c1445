"""Benchmarks of bodies: sequences of tasks, each with a body that an agent controls for a number of steps."""
