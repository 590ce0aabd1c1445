"""Gymnasium's MuJoCo bodies, stepped by MuJoCo directly. table.py lists them; it alone is imported without MuJoCo."""
