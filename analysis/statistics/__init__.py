"""Statistics over runs: pure functions over arrays. SciPy computes all statistics that it implements.

Values of one cell, (n,): `two_groups`, `permutation`, `shares`, `relations`, `summaries`. Scores of one arm, (N seeds,
M environments): `summaries`; `interval` for intervals that cover, with `student` below it, `method` for their measured
coverage, and `bootstrap` for the papers' intervals. `returns` computes scores and gaps from returns, `plasticity_score`
the score of an activation. Settings by seeds: `selection`.

A result carries its number of runs. If a number cannot be computed (too few values, a value that is not finite, no
variance), it is None and `reason` says why. Arrays of a wrong shape raise ValueError.
"""
