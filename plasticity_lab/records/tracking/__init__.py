"""Runs in W&B, made from their records: what is shown of them, where each has been written, and the writer."""
