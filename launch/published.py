"""The hyperparameters that papers report as best, looked up by benchmark and activation."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plasticity_lab.errors import ConfigError


@dataclass(frozen=True)
class Published:
    """A table of published values: (benchmark, activation) → group → setting → value."""

    rows: Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]

    def benchmark_for(self, name: str, stand_in: str | None) -> str | None:
        """The benchmark whose values serve: the named one, else its stand-in, else None."""
        known = {benchmark for benchmark, _ in self.rows}
        return next((each for each in (name, stand_in) if each in known), None)


def read_published(path: Path) -> Published:
    """The table in a CSV file with the columns benchmark, activation, lr, hyperparameters (JSON).

    Raises ConfigError if there is no such file, or if a line of it cannot be read.
    """
    rows: dict[tuple[str, str], Mapping[str, Mapping[str, Any]]] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                shape = json.loads(line["hyperparameters"])
                rows[line["benchmark"], line["activation"]] = {
                    "optimizer": {"lr": float(line["lr"])},
                    "activation": shape,
                }
    except FileNotFoundError as error:
        raise ConfigError(f"hyperparams: the table {path} does not exist.") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"hyperparams: {path} needs the columns benchmark, activation, lr and hyperparameters (JSON) "
            f"in every line ({error})."
        ) from error
    return Published(rows)
