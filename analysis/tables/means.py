"""Tables of means over seeds: a cell for each activation on each benchmark, or under each intervention."""

from functools import partial

from analysis.tables.build import build
from analysis.tables.caption import caption
from analysis.tables.grid import grid
from analysis.tables.measured import measured
from analysis.tables.table import Table

means = partial(Table, build=build, render=grid, caption=caption, measured=measured)
"""A table whose cells are the means of `cell`, beside the paper's values of it.

Those are for `cell`, or for what a line's `metric_read_as` says, and for runs without an intervention unless
interventions are the columns. Where `cell` is None there is a table for each value that agents name first.
"""
