"""Agents: an agent owns a pack's tensors and trains on its tasks. It returns measurements and opens no file."""
