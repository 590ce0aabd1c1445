"""`make bench`: how fast the packed engine is beside the script people write, beside JAX, and the machine's limit."""
