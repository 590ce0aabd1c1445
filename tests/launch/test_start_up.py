"""What a command imports before it answers: those that need no torch, and no other heavy library, load none.

How long they take is measured by hand; a library that is imported for nothing is what makes them slow.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.sweeps import runs_of, trained

pytestmark = pytest.mark.sample(1)

ROOT = Path(__file__).resolve().parents[2]
SLOW = {"torch", "wandb", "wandb_workspaces", "scipy", "sklearn", "pandas", "polars"}
DRAWING = {"matplotlib"}
SMALLER = {"hydra", "numpy", "pyarrow", "pydantic", "rich", "submitit"}
"""Each takes up to a tenth of a second, which nobody need wait for who only asks which commands there are."""

CALLS = """
import importlib, sys
def call(module, *words):
    main = importlib.import_module(module)
    sys.argv = [module, *words]
    try:
        (main.run_command if hasattr(main, "run_command") else main.main)(list(words))
    except SystemExit:
        pass
def check(unwanted, *command):
    call(*command)
    found = sorted(unwanted & sys.modules.keys())
    if found:
        raise SystemExit(f"{' '.join(command)} imports {', '.join(found)}")
"""


def checked(lines):
    """Runs the lines in a process of their own, which ends with status 0 if nothing unwanted was imported."""
    command = [sys.executable, "-c", "\n".join([CALLS, *lines])]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-2000:]


def test_help_imports_no_heavy_library():
    names = sorted(path.stem for path in (ROOT / "launch/commands").glob("[a-z]*.py"))
    assert len(names) >= 10
    lines = [f"check({SLOW | DRAWING | SMALLER}, 'launch.__main__', '--help')"]
    lines += [f"check({SLOW | DRAWING}, 'launch.__main__', '{name}', '--help')" for name in names]
    for module in ("analysis.__main__", "launch.bench.__main__", "launch.command"):
        lines += [f"check({SLOW | DRAWING}, '{module}', '--help')"]
    checked(lines)
    checked(["check({'numpy', 'pyarrow'}, 'launch.command', '--help')"])


def test_what_trains_nothing_is_answered_before_torch_is_imported():
    asked = [["activation=reluu"], ["hydra.run.dir=x"], ["--cfg", "job"], ["--info", "searchpath"], ["--version"]]
    checked([f"check({SLOW | DRAWING}, 'launch.command', *{words})" for words in asked])


def test_commands_about_a_store_import_what_they_use(store):
    trained(store, "seed=0", "schedule=smoke", "launch.workers=1")
    (run,) = runs_of("seed=0", "schedule=smoke")
    root = f"'--store', '{store.root}'"
    lines = [f"check({SLOW | DRAWING}, 'launch.__main__', {words}, {root})" for words in (
        "'status'", "'status', '--json'", "'cancel'", "'logs'", "'resume', 'unknown'", "'sync', '--dry-run'",
    )]  # fmt: skip
    lines += [f"check({SLOW | DRAWING}, 'launch.__main__', 'dashboard')"]
    lines += [f"check({SLOW | DRAWING}, 'analysis.__main__', 'table', {root})"]
    lines += [f"check({SLOW}, 'launch.__main__', 'show', '{run.id}', {root})"]
    checked(lines)
    checked([f"check({SLOW | DRAWING}, 'launch.__main__', 'show', '{run.id}', {root})"])  # its curve is there now


SCRIPT = """
import pkgutil, sys
from importlib import import_module
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
import launch.runs

for found in pkgutil.walk_packages(launch.runs.__path__, "launch.runs."):
    import_module(found.name)
from launch.runs.groups import GROUPS
from launch.runs.options import CONF, Options
with initialize_config_dir(str(CONF), version_base="1.3"):
    loader = GlobalHydra.instance().config_loader()
    options = Options(loader, loader.load_configuration("config", [], run_mode=RunMode.MULTIRUN))
for group in GROUPS:
    for name in options.vocabulary.options[group]:
        options.option(group, name)
print([name for name in ("torch", "wandb", "pyarrow") if name in sys.modules])
"""


def test_reading_words_and_conf_imports_none_of_the_slow_libraries():
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
