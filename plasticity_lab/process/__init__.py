"""What a process needs before it does anything: its account, its output, where modules come from, and how it ends."""
