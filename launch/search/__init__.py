"""hyperparams=search: asks for trials, has them trained as a sweep, and asks for the next by what they came to."""
