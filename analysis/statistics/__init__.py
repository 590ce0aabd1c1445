"""Statistics over runs: pure functions over arrays. SciPy computes whatever it has.

Values of one cell, (n,): `welch`, `hedges`, `paired`, `correlation`, `summaries.mean_sd`; over many tests, `holm`.
Scores of one arm, (N seeds, M environments): `iqm`, `summaries`, `profiles`; `interval` for intervals that cover, with
`student` below it, `method` for how often they do, and `bootstrap` for the papers' intervals. `normalise` and `gap`
make scores of returns, `plasticity_score` one of an activation. Settings by seeds: `selection`.

A result carries how many runs it was made of. If there is nothing to compute (too few values, one that is not finite,
no variance) its numbers are None and `reason` says why. Arrays of a wrong shape raise ValueError.
"""
