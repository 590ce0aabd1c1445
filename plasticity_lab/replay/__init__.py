"""What an agent has seen and done, kept on the host to learn from it again: a ring of frames, and draws from it."""
