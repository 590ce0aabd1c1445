"""Measure a kind of device, so that plans choose their widths and estimate their times by it.

    python -m launch calibrate                                    this machine
    python -m launch calibrate benchmark=mujoco_cycle             and the environments of that benchmark
    python -m launch calibrate hydra/launcher=slurm_gpu --wait    a node's GPU, in a job as that launcher's workers get
    python -m launch calibrate --set-mode dense=compiled          measures nothing: the mode that mode=auto takes here

It takes a few minutes, mostly for compiling. The result is kept in the store, for all plans that are made there. It
corrects their times and widths, and never changes a mode: runs' numbers must not depend on a busy moment. If you find
another mode faster, set it by name.

It also times the environments of runs that act. The runs are named as for `plasticity_lab.main`; if no run is named,
all sweeps planned in the store are read. If no run acts, no environment is timed. Earlier measurements
of other environments are kept.
"""

import argparse
import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from launch.command import asked
from launch.launchers.slurm.parameters import names_launcher, wants_gpu
from launch.launchers.slurm.short_job import answer_to, send
from launch.packs.lookup import add_config_dir, add_store, config_dir_words, plans_to_read, store_there
from launch.plan.calibration import read_calibration, set_modes, write_calibration
from launch.plan.device import devices, kind_of, not_compiled_here
from launch.plan.speed import MODES, Calibration, known_yardsticks
from launch.runs.options import classes_of
from launch.wording import say
from plasticity_lab.errors import ConfigError, PlasticityError
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.kinds import device_name
from plasticity_lab.records.store import Store

JOB_MINUTES = 60
"""The time limit of a job that measures, unless the launcher's own is shorter."""


@dataclass(frozen=True)
class Measurement:
    """A measurement of this machine, or of a node in a job, for a store.

    device: as in --device. mode: None for all modes. repeats: number of rounds. steps: updates in a burst; None for a
    burst of some tenths of a second. environments: environments to time → the class of an agent that acts there.
    """

    store: str
    device: str
    mode: str | None
    repeats: int
    steps: int | None
    environments: Mapping[str, str] = field(default_factory=dict)

    def __call__(self) -> str:
        """Measures, stores the calibration, and returns it in words.  Raises ConfigError, StoreError."""
        # torch: --help and the submission of a job need not wait for it
        from launch.plan.measuring import measured, steps_in
        from launch.work.process import prepare_compiling, prepare_process
        from plasticity_lab.agents.agent import Agent
        from plasticity_lab.kernels.build import missing

        store = store_there(Path(self.store))
        device = devices(self.device)[0]
        prepare_process()
        kernels = ["kernels"] if device == "cpu" and missing() is None else []
        modes = [self.mode] if self.mode else ["eager", "compiled", *kernels]
        if modes != ["eager"] and (uncompiled := not_compiled_here()):
            say(f"Only eager packs are measured: {uncompiled.sentence}.")
            modes = ["eager"]
        if modes != ["eager"]:
            prepare_compiling()
        agents = [cls for cls in classes_of("agent") if issubclass(cls, Agent)]
        yardsticks = [yardstick for agent in agents for yardstick in agent.yardsticks()]
        if self.steps is not None:
            yardsticks = [yardstick.shortened(self.steps) for yardstick in yardsticks]
        timed = steps_in(self.environments)
        calibration, facts = measured(device, yardsticks, timed, modes, self.repeats, say)
        file = store.calibration(device_name(kind_of(device)))
        earlier = None
        with contextlib.suppress(DamagedFile):  # this calibration replaces it
            earlier = read_calibration(file)
        host_steps = {**(earlier.host_steps if earlier else {}), **calibration.host_steps}
        write_calibration(store, kind_of(device), replace(calibration, host_steps=host_steps), facts)
        descriptions = {yardstick.name: yardstick.description for yardstick in yardsticks}
        kept = f"{calibration.basis}; kept in {file}"
        return "\n".join([*_in_words(calibration, facts["rates"], descriptions), kept])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("words", nargs="*", metavar="WORD", help="benchmark=..., hydra/launcher=..., and others")
    add_store(parser)
    add_config_dir(parser)
    parser.add_argument("--device", default="auto", help="auto | cpu | cuda | cuda:<number>")
    parser.add_argument("--mode", choices=MODES, help="measure only this mode; by default every available mode")
    parser.add_argument("--repeats", type=int, default=5, help="number of rounds to measure")
    parser.add_argument(
        "--steps", type=int, help="updates in a burst; by default as many as take some tenths of a second"
    )
    parser.add_argument(
        "--set-mode",
        action="append",
        default=[],
        metavar="NETWORKS=MODE",
        help=f"the mode that mode=auto takes for {' | '.join(known_yardsticks())}: {' | '.join(MODES)}; auto resets it",
    )
    parser.add_argument("--wait", action="store_true", help="wait for the job, and print its result")


def run(options: argparse.Namespace) -> None:
    """The command.  Raises ConfigError if the device does not exist, StoreError, SlurmError."""
    store = Store(options.store)
    if options.set_mode:
        _set_modes(options, store)
        return
    launcher, words = _taken_apart(options.words)
    folder = config_dir_words(options)
    parameters = asked([*folder, *options.words]).slurm if launcher else None
    if launcher and parameters is None:
        raise ConfigError("A job is submitted by hydra/launcher=packed_slurm, or one made from it, as slurm_gpu is.")
    if parameters is None:
        device = devices(options.device)[0]  # before the store is made
    else:
        device = "cuda" if wants_gpu(parameters, options.device) else "cpu"
    environments = _environments(store, [*folder, *launcher], words)
    store.prepare()
    measurement = Measurement(str(store.root), device, options.mode, options.repeats, options.steps, environments)
    if parameters is None:
        print(measurement())
        return
    sent = send(store, measurement, parameters, JOB_MINUTES)
    if options.wait:
        print(answer_to(sent, math.inf).result)
    else:
        say(f"Job {sent.job} measures, and writes its result into {store.root / 'calibration'} for later plans.")
        say(f"How far it is: squeue --jobs={sent.job}; its output: {sent.log}")


def _set_modes(options: argparse.Namespace, store: Store) -> None:
    """Stores modes, and prints all that are set.  Raises ConfigError for an unknown yardstick or mode."""
    if options.words:
        raise ConfigError("--set-mode is about this machine's device: give it on a node of the cluster, without words.")
    modes = {}
    for word in options.set_mode:
        name, _, mode = word.partition("=")
        if name not in known_yardsticks() or mode not in (*MODES, "auto"):
            names, choices = ", ".join(known_yardsticks()), ", ".join((*MODES, "auto"))
            raise ConfigError(f"--set-mode {word}: it is NETWORKS=MODE, of {names} and of {choices}.")
        modes[name] = mode
    kind = kind_of(devices(options.device)[0])
    store.prepare()
    now_set = ", ".join(f"{name}={mode}" for name, mode in set_modes(store, kind, modes).items()) or "none"
    print(f"Modes set for {device_name(kind)}: {now_set}; kept in {store.calibration(device_name(kind))}")


def _taken_apart(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that name a launcher, and the words that name runs.

    Raises ConfigError for store=, device= or mode=, which are flags of this command.
    """
    for word in words:
        name, _, value = word.partition("=")
        if name in ("store", "device", "mode"):
            raise ConfigError(f"'{word}': this command is given it as --{name} {value}.")
    launcher = [word for word in words if names_launcher(word)]
    return launcher, [word for word in words if word not in launcher]


def _environments(store: Store, launcher: Sequence[str], words: Sequence[str]) -> dict[str, str]:
    """The environments to time (see `environments_of`), in the named runs, or in all runs planned in the store.

    launcher: the words for the launcher, and for the folder of the user's options.
    """
    from launch.launchers.prepare import costs_to_show  # torch: --help need not wait for it
    from launch.plan.measuring import environments_of

    if words:
        resolved = asked([*launcher, *words]).resolved
        return environments_of(resolved.runs, costs_to_show(resolved.settings))
    environments: dict[str, str] = {}
    for plan in plans_to_read(store) if store.root.is_dir() else ():
        try:
            environments |= environments_of(plan.runs.values(), costs_to_show(plan.settings))
        except PlasticityError as error:
            say(f"The environments of sweep {plan.sweep} are not timed: {error}")
    return environments


def _in_words(
    calibration: Calibration, rates: Mapping[str, Mapping[str, Mapping[int, float]]], descriptions: Mapping[str, str]
) -> list[str]:
    """The calibration, in lines.

    rates: yardstick → mode → width → run-steps a second. descriptions: yardstick → words.
    """
    lines = []
    for name, by_mode in rates.items():
        speed = calibration.of(name)
        for mode, by_width in by_mode.items():
            listed = ", ".join(f"{width}: {rate:,.0f}" for width, rate in by_width.items())
            fixed, flops = speed.step_seconds[mode] * 1e6, speed.flops[mode] / 1e9
            step = f"a step takes {fixed:,.0f} µs and its work at {flops:,.0f} GFLOP/s"
            packs = f"packs of {speed.width[mode]}; {step} (run-steps/s by width: {listed})"
            lines.append(f"{descriptions[name]}, {mode}: {packs}")
    return [*lines, *(f"{name}: {seconds * 1e6:,.0f} µs a step" for name, seconds in calibration.host_steps.items())]
