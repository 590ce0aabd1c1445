"""Bodies in environments, one after another: which body an agent controls in each task, and for how long."""
