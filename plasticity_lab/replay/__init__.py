"""Replay memory on the host: a ring of frames, actions and rewards, and batches sampled from it."""
