"""Diagnostics measure a pack while it learns: they read a view of it and return columns, and never change the runs."""
