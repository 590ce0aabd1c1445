"""Commands drawn at random: the time in their plans, compared with the CPU time that they take.

    python -m launch.bench.prices [--commands 50] [--seed 0] [--families mlp,ppo] [--at-most 60] [--out FOLDER]

Each command is planned, and then run with one worker and a new store. Its CPU time includes imports, compiling,
training, evaluation and records, and so does the plan. Compiled code is kept from command to command, and the plan
counts the code that the disk lacks. Give a new TORCHINDUCTOR_CACHE_DIR to begin without compiled code.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launch.bench.choices import parsed, parser_of, write_result
from launch.bench.whole import cpu_seconds
from launch.command import asked
from launch.launchers.local import Machine
from launch.launchers.prepare import prepared
from launch.plan.device import kind_of
from launch.plan.forecast import forecast
from launch.work.process import prepare_compiling
from plasticity_lab.assembly import resources
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.data.folder import data_folder
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.run import Run

SEEDS = ("seed=0", "seed=0,1", "seed=range(0,4)", "seed=range(0,8)", "seed=range(0,12)")
MODES = ("mode=auto", "mode=auto", "mode=eager", "mode=kernels")
FAMILIES: Mapping[str, Sequence[Sequence[str]]] = {
    "mlp": (
        ("benchmark=permuted_digits", "benchmark=random_label_digits", "benchmark=continual_digits"),
        ("benchmark.tasks=10", "benchmark.tasks=30", "benchmark.tasks=100", "benchmark.tasks=200"),
        ("activation=relu", "activation=leaky_relu", "activation=tanh", "activation=gelu"),
        ("optimizer=adam", "optimizer=sgd"),
        ("intervention=none", "intervention=none", "intervention=l2_init", "intervention=continual_backprop"),
        ("network.width=50", "network.width=100", "network.width=300"),
        MODES,
        SEEDS,
    ),
    "wide": (
        ("benchmark=permuted_digits",),
        ("benchmark.tasks=1", "benchmark.tasks=3"),
        ("network.width=1000", "network.width=2000"),
        ("benchmark.batch_size=1", "benchmark.batch_size=16", "benchmark.batch_size=64"),
        MODES,
        ("seed=0", "seed=0,1,2"),
    ),
    "cnn": (
        ("benchmark=digits51 network=cnn network.padding=same",),
        ("benchmark.tasks=3", "benchmark.tasks=10", "benchmark.tasks=30"),
        ("activation=relu", "activation=gelu"),
        MODES,
        ("seed=0", "seed=0,1", "seed=0,1,2"),
    ),
    "replay": (
        ("benchmark=split_digits",),
        ("agent=experience_replay", "agent=no_replay"),
        ("benchmark.epochs=5", "benchmark.epochs=20", "benchmark.epochs=80"),
        MODES,
        SEEDS,
    ),
    "ppo": (
        ("benchmark=classic_cycle benchmark.test_episodes=1", "benchmark=mujoco 'benchmark.bodies=[hopper]'",
         "benchmark=mujoco", "benchmark=mujoco 'benchmark.bodies=[ant]'"),
        ("benchmark.environment_steps=4096", "benchmark.environment_steps=20480"),
        MODES,
        SEEDS,
    ),
    "value": (
        ("benchmark=catch", "benchmark=games", "benchmark=games benchmark.game=gathering"),
        ("schedule=smoke",),
        ("agent=dqn", "agent=rainbow_lite", "agent=rainbow"),
        MODES,
        ("seed=0", "seed=0,1", "seed=range(0,4)"),
    ),
    "pixels": (
        ("benchmark=catch_84 schedule=smoke benchmark.environment_steps=700",),
        ("network=nature", "network=small_nature", "network=impala"),
        MODES,
        ("seed=0", "seed=0,1"),
    ),
    "sac": (
        ("benchmark=mujoco agent=sac schedule=smoke",),
        ("benchmark.environment_steps=1500", "benchmark.environment_steps=3000"),
        MODES,
        ("seed=0", "seed=0,1,2"),
    ),
}  # fmt: skip
"""Family → the choices of each part of its commands."""


def drawn(families: Sequence[str], seed: int) -> Iterator[tuple[str, list[str]]]:
    """(family, words of a command), without end; the families take turns."""
    draw = host_stream(seed, "drawn commands")
    while True:
        for family in families:
            words = " ".join(part[int(draw.integers(len(part)))] for part in FAMILIES[family])
            yield family, [word.strip("'") for word in words.split()]


def planned(words: Sequence[str]) -> dict[str, Any]:
    """The parts of a command's forecast in seconds, and the modes of its packs."""
    command = asked([*words, "dry_run=true"])
    machine = Machine.of(command.resolved.settings)
    ready = prepared(command.resolved.runs, command.resolved.settings, machine.resources)
    packs = ready.plan.packs
    # CPU time does not depend on the number of cores that compile.
    time = forecast(packs, ready.plan.runs, ready.cost_of, machine.resources.workers, machine.resources, compilers=1)
    return {
        "modes": sorted({pack.mode for pack in packs}),
        "packs": len(packs),
        "planned": round(time.seconds, 2),
        "training": round(time.training, 2),
        "starting": round(time.starting, 2),
        "compiling": round(time.compiling.seconds, 2),
    }


def first_pack(words: Sequence[str]) -> tuple[Sequence[Run], Resource]:
    """The runs of a command's first pack, and their resource."""
    command = asked([*words, "dry_run=true"])
    settings = command.resolved.settings
    plan = prepared(command.resolved.runs, settings, Machine.of(settings).resources).plan
    runs = plan.runs_of(plan.packs[0])
    return runs, resources(data_folder(settings.data))(runs[0])


def main() -> None:
    """The command."""
    parser = parser_of("prices", __doc__)
    parser.add_argument("--commands", type=int, default=50, help="number of commands")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    parser.add_argument("--families", default=",".join(FAMILIES), help="some of them, by their names")
    parser.add_argument("--at-most", type=float, default=90, help="seconds of a plan; longer commands are drawn again")
    options = parsed(parser, "prices")
    prepare_compiling()
    rows: list[dict[str, Any]] = []
    for family, words in drawn(options.families.split(","), options.seed):
        if len(rows) == options.commands:
            break
        with tempfile.TemporaryDirectory() as folder:
            more = [f"store={folder}", "device=cpu", "launch.workers=1", "tracking=store"]
            row = {"family": family, "words": " ".join(words), **planned([*words, *more])}
            if row["planned"] > options.at_most:
                continue
            row["measured"] = round(cpu_seconds([sys.executable, "-m", "plasticity_lab.main", *words, *more]), 2)
        row["ratio"] = round(row["planned"] / row["measured"], 2)
        rows.append(row)
        print("{ratio:5.2f}  {planned:6.1f} (training {training:.1f}, compiling {compiling:.1f}) / {measured:6.1f} s  "
              "{words}  {modes}".format(**row), flush=True)  # fmt: skip
    close = sum(1 / 1.5 <= row["ratio"] <= 1.5 for row in rows)
    print(f"{close} of {len(rows)} plans are within 1.5 times of the measured time.")
    write_result(options.out, "prices", {"commands": rows, "provenance": {"kind": kind_of("cpu")}})


if __name__ == "__main__":
    leave(status_of(main))
