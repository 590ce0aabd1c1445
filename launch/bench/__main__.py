"""The bench as a command.

    python -m launch.bench [--quick] [--networks mlp] [--widths 1,2,4,8,16] [--device cpu|cuda] [--out FOLDER]

Measures the packed engine, the script that people write and JAX, in turns, and leaves a table and a JSON file. It needs
torch and numpy; JAX (the `bench` extra) and records (pyarrow) are measured if they are installed.
"""

import plasticity_lab.process.import_path  # from now on the current folder comes last
import plasticity_lab.process.whole_lab  # noqa: F401 (ends the process with one sentence if packages are missing)

# isort: split
import argparse
import json
import os
import sys
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from launch.bench.choices import BODIES, DEFAULTS, MODES, PARTS, VALUE_NETWORKS, Choices, kind
from launch.plan.device import devices, kind_of, not_compiled_here
from plasticity_lab.agents.supervised.workload_settings import ACTIVATIONS, INTERVENTIONS, SETTINGS, USUAL
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.records.provenance import provenance


def main(arguments: Sequence[str] | None = None) -> int:
    """The command.  Returns its exit status."""
    return status_of(lambda: _measured(_parser().parse_args(arguments)))


def _measured(options: argparse.Namespace) -> None:
    """Measures, and writes a table and a JSON file.  Raises ConfigError."""
    import torch  # --help need not wait for it, nor for modules that import it

    from launch.bench.comparisons import run
    from launch.bench.report import as_json, as_text
    from launch.work.process import prepare_compiling, prepare_process

    choices = _choices(options)
    prepare_process()
    if any(mode != "eager" for mode in choices.modes):
        prepare_compiling()
    torch.backends.cudnn.allow_tf32 = False  # float32 for all; in matrix products it is torch's default
    made, before = provenance(), os.getloadavg()
    device = kind_of(choices.device)
    processor = f"{made['cpu']} ({device})" if choices.device == "cpu" else device
    commit = f"commit {made['commit']}{' and changes' if made['dirty'] else ''}"
    load = f"others on the machine: load {before[0]:.1f} when it began"
    text = f"{processor}, torch {torch.__version__}, {commit}, {made['start']}; {load}"
    comparisons = list[dict[str, Any]]()
    content: dict[str, Any] = {
        "provenance": made | {"device": device, "torch": torch.__version__, "load": before},
        "choices": vars(choices),
        "comparisons": comparisons,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    for comparison in run(choices, lambda words: print(words, file=sys.stderr, flush=True)):
        text += f"\n\n\n{as_text(comparison)}"
        comparisons.append(as_json(comparison))
        # After each comparison, so that a command that is stopped leaves its measurements.
        (options.out / "bench.txt").write_text(f"{text}\n")
        (options.out / "bench.json").write_text(json.dumps(content, indent=1))
    print(f"{text}\n\nThe table and all samples: {options.out / 'bench.txt'}, {options.out / 'bench.json'}")


def _choices(options: argparse.Namespace) -> Choices:
    """The choices of the command line; --quick is eager and short.  Raises ConfigError for a device that is missing."""
    from plasticity_lab.kernels.build import missing  # torch

    device = devices(options.device)[0]
    quick, default = options.quick, DEFAULTS[kind(device)]
    widths = options.widths or ([4] if quick else None)
    bodies, value_networks = options.bodies or default.bodies, options.value_networks or default.value_networks
    asked = ["eager"] if quick else options.modes or default.modes
    modes = [mode for mode in asked if mode == "eager" or not_compiled_here() is None]
    if "kernels" in modes and (device != "cpu" or missing() is not None):
        modes.remove("kernels")
    parts, repeats = options.parts or default.parts, options.repeats or (2 if quick else default.repeats)
    if quick:
        bodies, value_networks = bodies[:1], value_networks[:1]
    workloads, steps = (options.networks, options.activations, options.interventions), 20 if quick else None
    return Choices(*workloads, widths, modes, parts, device, repeats, steps, bodies, value_networks)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m launch.bench", description=(__doc__ or "").split("\n\n")[2])

    def add_names(option: str, known: Collection[str], more: str = "", default: Sequence[str] | None = None) -> None:
        """An option that takes some of the known names."""
        words = f"of {', '.join(known)}{more}"
        parser.add_argument(option, type=partial(_names, known), default=default, help=words)

    first = "; the others are compared with the first"
    parser.add_argument("--quick", action="store_true", help="a few seconds: eager, short; numbers mean little")
    add_names("--networks", SETTINGS, default=USUAL)
    add_names("--activations", ACTIVATIONS, first, ["relu", "rrelu", "prelu", "swish"])
    add_names("--interventions", INTERVENTIONS, first, list(INTERVENTIONS))
    widths = "widths of packs, such as 1,4,8; by default suitable ones for the network"
    parser.add_argument("--widths", type=_numbers, help=widths)
    add_names("--modes", MODES)
    add_names("--parts", PARTS)
    add_names("--bodies", BODIES)
    add_names("--value-networks", VALUE_NETWORKS, "; with these value agents are measured")
    device = "cpu (one core), cuda, cuda:<number>; on a GPU fewer parts, modes and networks are measured by default"
    parser.add_argument("--device", default="cpu", help=device)
    parser.add_argument("--repeats", type=int, help="rounds that are measured")
    parser.add_argument("--out", type=Path, default=Path("bench_results"), help="folder for bench.txt and bench.json")
    return parser


def _names(known: Collection[str], words: str) -> list[str]:
    for name in words.split(","):
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
    return words.split(",")


def _numbers(words: str) -> list[int]:
    numbers = sorted({int(word) for word in words.split(",")})
    if numbers[0] < 1:
        raise argparse.ArgumentTypeError("a width is at least 1")
    return numbers


if __name__ == "__main__":
    leave(main())
