"""A file for each table, or for a family of tables: the command can make every table that a file has in `TABLES`."""
