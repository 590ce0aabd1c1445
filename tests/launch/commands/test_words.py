"""Words of a command may be on either side of its flags."""

import argparse
import importlib
import pkgutil

import pytest

from analysis.__main__ import COMMANDS
from launch import commands
from launch.__main__ import main

LAUNCH = [module.name for module in pkgutil.iter_modules(commands.__path__)]


@pytest.mark.parametrize(
    "words", [["--store", "{}", "1a2b", "diagnostics=cheap"], ["1a2b", "--store", "{}", "diagnostics=cheap"]]
)
def test_observe_takes_runs_and_diagnostics_around_its_flags(words, store, capsys):
    store.prepare()
    assert main(["observe", *(word.format(store.root) for word in words)]) == 1
    assert "1a2b" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*LAUNCH, *COMMANDS])
def test_each_command_can_read_words_around_its_flags(name, capsys):
    """argparse cannot, for example, where an argument without a flag excludes another one."""
    parser = argparse.ArgumentParser()
    if name in COMMANDS:
        importlib.import_module(COMMANDS[name][0]).add_command(parser)
    else:
        importlib.import_module(f"{commands.__name__}.{name}").add_arguments(parser)
    with pytest.raises(SystemExit) as end:
        parser.parse_intermixed_args(["--help"])
    assert end.value.code == 0
