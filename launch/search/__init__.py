"""hyperparams=search: proposes trials, has them trained as a sweep, and proposes the next by the results."""
