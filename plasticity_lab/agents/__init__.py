"""What a task's steps do: an agent owns a pack's tensors and returns measurements; it opens no file and logs nothing."""
