"""What `python -m launch COMMAND` can do: one module a command, its name the command's.

Each has a docstring whose first line is its help, `add_arguments(parser)`, and `run(options)`, which returns the exit
status and raises PlasticityError with a sentence for people.
"""
