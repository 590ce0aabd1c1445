"""The main metric of each agent: the table of runs that no table of the papers is about."""

from analysis.tables.grid import means

HEADLINE = means(
    name="headline",
    title="Headline",
    beside=("parameters", "seconds"),
)

TABLES = (HEADLINE,)
