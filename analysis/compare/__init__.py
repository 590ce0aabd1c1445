"""Arms compared by a setting: does X help?  `python -m analysis compare`, and the same from Python.

    from analysis.compare import compare

    result = compare("store", by="intervention", against="none")
    print(result.markdown())

`setting` finds what is compared, `sections` which runs; `arm`, `pair`, `scores` and `comparison` make numbers of them,
`listing`, `pairs_listing`, `caption`, `runs_said` and `drawing` what is shown.
"""

from analysis.compare.result import Result, compare

__all__ = ["Result", "compare"]
