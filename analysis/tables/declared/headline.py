"""The main metric of each agent: a table for runs that belong to no table of the papers."""

from analysis.tables.grid import means

HEADLINE = means(
    name="headline",
    title="Headline",
    beside=("parameters", "seconds"),
)

TABLES = (HEADLINE,)
