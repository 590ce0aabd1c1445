"""A file for each table, or for tables alike: what stands in `TABLES` of a file here can be made by the command."""
