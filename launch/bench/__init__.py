"""`make bench`: the speed of the packed engine, compared with the script people write, JAX, and the machine's limit."""
