"""Compares arms by a setting: does X help?  `python -m analysis compare`, or from Python:

    from analysis.compare import compare

    result = compare("store", by="intervention", against="none")
    print(result.markdown())

`setting` finds the compared setting and `sections` the compared runs. `arm`, `pair`, `scores` and `comparison` compute
the numbers. `listing`, `caption` and `drawing` make tables, captions and figures.
"""

from analysis.compare.result import Result, compare

__all__ = ["Result", "compare"]
