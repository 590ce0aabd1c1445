"""The commands of `python -m launch COMMAND`: one module for each, with the command's name.

The first line of a module's docstring is the command's help. The module has `add_arguments(parser)` and `run(options)`,
which returns the exit status if it can be another than 0, and raises PlasticityError with a sentence for users.
"""
