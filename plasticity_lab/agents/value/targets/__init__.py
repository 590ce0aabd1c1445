"""The targets that a value agent's network learns (config group `target`)."""
