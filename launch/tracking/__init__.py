"""Runs in W&B, made from records."""
