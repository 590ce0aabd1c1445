"""Benchmarks: sequences of tasks. Task t is data, and a function of (seed, t) alone."""
