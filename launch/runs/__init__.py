"""From the words of a command to its runs."""
