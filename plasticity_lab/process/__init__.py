"""The manners of every process: the folders of its modules, its account, its output, its end."""
