"""The command line: its flags and words, and the flags that show something."""
