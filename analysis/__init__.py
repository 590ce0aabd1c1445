"""From the store to tables: loading, statistics, and the papers' results beside ours."""
