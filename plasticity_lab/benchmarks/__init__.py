"""Which tasks follow each other: a benchmark is data, and its task t a function of (seed, t) alone."""
