"""The command line: taken apart into flags and words, and what it shows instead of training."""
