"""What a task's steps do: an agent owns a pack's tensors, returns measurements, opens no file."""
