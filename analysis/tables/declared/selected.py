"""The best setting of each activation in the searches of a store, and how much of its mean is luck."""

from analysis.tables.measured import compared
from analysis.tables.selected import build, caption, render
from analysis.tables.table import Table

SELECTED = Table(
    name="selected",
    title="Best settings, and the bias of selecting them",
    build=build,
    render=render,
    caption=caption,
    measured=compared,
)

TABLES = (SELECTED,)
