"""What a command that only reads its words and conf/ need not wait for."""

import subprocess
import sys

SCRIPT = """
import pkgutil, sys
from importlib import import_module
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
import launch.runs

for found in pkgutil.walk_packages(launch.runs.__path__, "launch.runs."):
    import_module(found.name)
from launch.runs.options import CONF, GROUPS, Options
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
