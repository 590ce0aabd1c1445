"""The mode of a run's computation, with the reason: chosen from the run's cost and the kind of device alone.

So the same command gives the same numbers on the same kind of device at any time. Neither the other runs of a pack nor
a measurement on a busy machine changes a mode. A user may set modes by name, in the command or by `python -m launch
calibrate --set-mode`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from launch.plan.compiling import NotCompiled
from launch.plan.speed import default_calibration, rule_of
from launch.wording import say
from plasticity_lab.agents.cost import Cost
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.kinds import is_cpu

MODES = ("eager", "compiled", "kernels")


@dataclass(frozen=True)
class Choice:
    """The chosen mode.  mode: one of MODES. why: the reason in a few words, for a plan's table."""

    mode: str
    why: str


def choice_of(cost: Cost, kind: str, setting: str, uncompiled: NotCompiled | None, modes: Mapping[str, str]) -> Choice:
    """The mode of a run on a kind of device.

    setting: the command's `mode`. uncompiled: the reason why nothing can be compiled there; None if compiling works.
    modes: yardstick → the mode set by hand for the kind. If kernels cannot serve the run, it is compiled or eager; one
    line says so if the command named kernels.  Raises ConfigError if the command says compiled, and nothing can be
    compiled.
    """
    if setting == "compiled" and uncompiled:
        raise ConfigError(f"mode is compiled, but {uncompiled.sentence}; or say mode=eager.")
    if setting == "auto" and cost.speed not in modes:
        return _fastest(cost, kind, uncompiled)
    mode, why = (modes[cost.speed], "set by calibrate") if setting == "auto" else (setting, "as asked")
    if mode == "kernels" and (lack := _lack_of_kernels(cost, kind, uncompiled)) is not None:
        mode, why = "eager" if uncompiled else "compiled", lack.why
        if setting == "kernels":
            _say_once(f"mode=kernels: {lack.sentence}, so runs are {mode} there.")
    return Choice("eager", uncompiled.why) if mode == "compiled" and uncompiled else Choice(mode, why)


def _fastest(cost: Cost, kind: str, uncompiled: NotCompiled | None) -> Choice:
    """The fastest mode of one run, according to the shipped figures."""
    if uncompiled:
        return Choice("eager", uncompiled.why)
    rule, speed = rule_of(kind, cost.speed), default_calibration(kind).of(cost.speed)
    lack = _lack_of_kernels(cost, kind, uncompiled) if rule.mode == "kernels" else None
    mode, why = (rule.mode, "") if lack is None else ("compiled", lack.why)
    eager, fast = (speed.seconds(each, 1, cost.updates, cost.flops) for each in ("eager", mode))
    if eager - fast < rule.from_seconds:
        return Choice("eager", f"since compiled code would save under {rule.from_seconds:g} s a run")
    return Choice(mode, why or f"which saves {rule.from_seconds:g} s a run or more")


def _lack_of_kernels(cost: Cost, kind: str, uncompiled: NotCompiled | None) -> NotCompiled | None:
    """The reason why our kernels cannot serve the run; None if they can."""
    if uncompiled:
        return uncompiled
    if not is_cpu(kind):
        return NotCompiled("a GPU has no kernels", f"our kernels are for CPUs, and {kind} is none")
    if not cost.kernels:
        return NotCompiled("no kernels for its agent", "there are no kernels for some runs' agent")
    from plasticity_lab.kernels.build import missing  # torch

    return None if (reason := missing()) is None else NotCompiled("no kernels there", f"{reason} here")


@cache
def _say_once(line: str) -> None:
    say(line)
