"""Commands around sweeps: python -m launch COMMAND. Each is a module of launch/commands."""

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence

from launch import commands
from plasticity_lab.errors import PlasticityError


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says.  Returns its exit status; 1 after a sentence that says what is wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    known = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    parser = argparse.ArgumentParser(prog="python -m launch", description="Commands around sweeps.")
    chosen = parser.add_subparsers(required=True, metavar="COMMAND")
    # One that is named is imported alone: some need torch, which takes a second.
    for name in [name for name in known if given[:1] == [name]] or known:
        module = importlib.import_module(f"{commands.__name__}.{name}")
        words = str(module.__doc__)
        command = chosen.add_parser(name, help=words.splitlines()[0], description=words)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args(given)
    try:
        status = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read on (`| head`) has seen enough. Python flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except PlasticityError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
