"""One file for each table or family of tables: the command can make every table in a file's `TABLES`."""
