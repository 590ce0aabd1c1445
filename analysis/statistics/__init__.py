"""Statistics over runs: pure functions over arrays, one idea a file. SciPy computes wherever SciPy has it.

Values of one cell, (n,): `welch`, `hedges`, `paired`, `correlation`, `summaries.mean_sd`; over many tests, `holm`.
Scores of one arm, (N seeds, M environments): `iqm`, `summaries`, `improvement`, `profiles`; `interval` for intervals
that cover, with `contributions` and `student` below it, `covered` for how often they do, `bootstrap` for those of the
papers, and `bounded` where scores have bounds that are drawn. `normalise` and `gap` make scores of returns,
`plasticity_score` one of an activation. Settings by seeds: `selection` and `selection_bias`.

A result carries how much it was made of. Where there is nothing to compute (too few values, one that is not finite, no
variance) its numbers are None and `reason` says why. Arrays of a wrong shape raise ValueError.
"""
