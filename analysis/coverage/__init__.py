"""The coverage of intervals: how often they contain the true value, by simulation of runs with a known distribution."""
