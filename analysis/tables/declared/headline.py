"""What each agent names first of what its runs came to: the table of runs that no table of the papers is about."""

from analysis.tables.means import means

HEADLINE = means(
    name="headline",
    title="Headline",
    rows="activation",
    columns="benchmark",
    cell=None,
    beside=("parameters", "seconds"),
    reported=(),
    source="",
)

TABLES = (HEADLINE,)
