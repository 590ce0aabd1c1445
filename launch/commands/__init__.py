"""The commands of `python -m launch COMMAND`: one module for each, of the same name.

Each has a docstring whose first line is its help, `add_arguments(parser)`, and `run(options)`, which returns the exit
status and raises PlasticityError with a sentence for people.
"""
