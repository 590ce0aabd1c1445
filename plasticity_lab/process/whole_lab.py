"""Whether this installation can carry out commands: a clone with the packages of the extra `lab`.

Commands import this module before any other package, so that an incomplete installation ends in one sentence.
"""

import sys
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

import plasticity_lab

ROOT = Path(plasticity_lab.__file__).resolve().parents[1]
NEEDED = {
    "hydra": "hydra-core", "matplotlib": "matplotlib", "omegaconf": "omegaconf", "PIL": "pillow", "plotext": "plotext",
    "polars": "polars", "pooch": "pooch", "pyarrow": "pyarrow", "pydantic": "pydantic", "rich": "rich",
    "scipy": "scipy", "submitit": "submitit", "tabulate": "tabulate", "wandb": "wandb",
}  # fmt: skip
"""Imported name → package, for packages of the extra `lab` that commands need in general. Others are needed by one
choice each (a body of MuJoCo, an Atari game, digits, Slurm by Hydra), which names them itself."""


def objection(root: Path = ROOT, needed: Collection[str] = tuple(NEEDED)) -> str | None:
    """The reason why commands cannot run in this installation; None if they can.

    root: the folder of the package. needed: imported names.
    """
    if not (root / "conf").is_dir():
        return (
            f"plasticity_lab {plasticity_lab.__version__} is installed here as a package for your own code "
            "(import plasticity_lab.outside); sweeps and all other commands run from a clone of the repository: run "
            "`make setup` there."
        )
    missing = [NEEDED[name] for name in needed if name not in sys.modules and find_spec(name) is None]
    if missing:
        return (
            f"This installation lacks the extra lab, which commands need ({', '.join(missing)}): run `make setup`, or "
            f"`pip install -c constraints.txt -e '.[lab]'`, in {root}."
        )
    return None


if _words := objection():
    sys.exit(_words)
