"""The papers' results as tidy CSV files, and their reader."""
