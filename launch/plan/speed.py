"""The speed of device kinds: plans use these figures to estimate times, and to choose widths and modes.

A CPU's kind names only its vector instructions. So the shipped figures (`shipped.yaml`) may be another processor's, and
their basis names it. `python -m launch calibrate` measures this machine's processor and corrects times and widths.
`--set-mode` sets a mode.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from launch.runs.files import table_in
from plasticity_lab.agents.cost import Cost
from plasticity_lab.records.damage import object_of
from plasticity_lab.records.kinds import instructions_of, is_cpu

MODES = ("eager", "compiled", "kernels")
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
USUAL = "dense"
"""The yardstick of networks with matrix products only. Yardsticks without a measurement take its speed."""
FORWARD_SHARE = 0.1
"""The fixed cost of a forward pass, as a share of an eager update's fixed cost, if no forward pass was measured: an
upper estimate. With one MLP on one core, a forward pass took 60 µs, half of it for the products, and an eager update
1,260 µs."""
HOST_STEP_SECONDS = 3e-4
"""Seconds of a step in an environment that was not measured: about one step of an Atari game, with four frames."""
STATE_BYTES = 16
"""Bytes of a parameter in an update: its value, its gradient and two moments."""


@dataclass(frozen=True)
class Speed:
    """The speed of a device for one kind of network, by mode ("eager", "compiled", and "kernels" if it was measured).

    width: mode → the most runs of a pack. step_seconds: mode → the fixed cost of an update, at any width. flops: mode →
    operations a second in matrix products and convolutions. memory: the ratio of measured to estimated bytes of a run.

    Further costs of an update, 0 for a mode without them. run_seconds: mode → seconds for each run, whatever its size.
    parameter_seconds: mode → seconds for each parameter of each run, if the pack's parameters, gradients and moments
    fit into the caches. beyond_seconds: mode → seconds in addition, if they do not. cached: bytes of the caches.

    Costs of a forward pass without an update. forward_seconds: mode → its fixed cost; forward_run_seconds: mode →
    seconds for each run; forward_flops: mode → operations a second. For a mode without them, the eager figures of
    updates count, with FORWARD_SHARE.
    """

    width: Mapping[str, Annotated[int, Field(ge=1)]]
    step_seconds: Mapping[str, Seconds]
    flops: Mapping[str, Positive]
    memory: Positive = 1.0
    run_seconds: Mapping[str, Seconds] = field(default_factory=dict)
    parameter_seconds: Mapping[str, Seconds] = field(default_factory=dict)
    beyond_seconds: Mapping[str, Seconds] = field(default_factory=dict)
    cached: Positive = 2.0**24
    forward_seconds: Mapping[str, Seconds] = field(default_factory=dict)
    forward_run_seconds: Mapping[str, Seconds] = field(default_factory=dict)
    forward_flops: Mapping[str, Positive] = field(default_factory=dict)

    def over(self, default: "Speed") -> "Speed":
        """This measurement, with the figures of `default` for modes that were not measured."""
        together = {}
        for each in fields(Speed):
            mine, other = getattr(self, each.name), getattr(default, each.name)
            if isinstance(mine, Mapping):
                together[each.name] = {**{mode: other[mode] for mode in other.keys() - self.flops.keys()}, **mine}
        return Speed(**together, memory=self.memory, cached=default.cached)

    def scaled(self, factors: Mapping[str, float]) -> "Speed":
        """The speed in some modes if all of their seconds are multiplied.  factors: mode → factor."""
        changed = {}
        for each in fields(Speed):
            value = getattr(self, each.name)
            if isinstance(value, Mapping):
                power = 1 if each.name.endswith("seconds") else -1 if each.name.endswith("flops") else 0
                modes = factors.keys() & value.keys()
                changed[each.name] = {
                    mode: value[mode] * factors[mode] ** power if power else value[mode] for mode in modes
                }
        return replace(self, **changed)

    def seconds(self, mode: str, width: int, updates: float, flops: int, parameters: int = 0) -> float:
        """Estimated seconds of a pack's updates.  flops, parameters: for one run's update."""
        step = self.step_seconds[self._measured(mode)]
        return updates * (step + width * self.seconds_of_run(mode, width, flops, parameters))

    def seconds_of_run(self, mode: str, width: int, flops: int, parameters: int = 0) -> float:
        """Estimated seconds of each run in an update of a pack of that width."""
        measured = self._measured(mode)
        beyond = min(1.0, width * parameters * STATE_BYTES / self.cached) * self.beyond_seconds.get(measured, 0.0)
        of_parameters = parameters * (self.parameter_seconds.get(measured, 0.0) + beyond)
        return self.run_seconds.get(measured, 0.0) + flops / self.flops[measured] + of_parameters

    def widest(self, mode: str) -> int:
        """The most runs of a pack."""
        return self.width[self._measured(mode)]

    def _measured(self, mode: str) -> str:
        """The mode with figures: compiled instead of kernels if the device has no figures for kernels."""
        return "compiled" if mode == "kernels" and mode not in self.width else mode

    def seconds_of_forwards(self, mode: str, width: int, forwards: float, flops: int) -> float:
        """Estimated seconds of a pack's forward passes without update.  flops: for one run's forward pass."""
        measured = self._measured(mode)
        if measured not in self.forward_flops:
            return forwards * (FORWARD_SHARE * self.step_seconds["eager"] + flops * width / self.flops["eager"])
        of_run = self.forward_run_seconds.get(measured, 0.0) + flops / self.forward_flops[measured]
        return forwards * (self.forward_seconds.get(measured, 0.0) + width * of_run)

    def bytes(self, estimated: int) -> int:
        """Bytes that a run takes."""
        return int(estimated * self.memory)


@dataclass(frozen=True)
class Calibration:
    """The figures of one kind of device.

    speeds: yardstick of the agents, or `Cost.priced_as` → speed. basis: the measured device, or a note that this device
    was not measured. host_steps: environment → seconds of a step on the host. host_calls: environment → seconds of a
    call that steps all environments of a pack, in addition; 0 without an entry. modes: yardstick → the mode set by hand
    for `mode=auto`. kind: the name of the device, in a file of a store.
    """

    speeds: Mapping[str, Speed]
    basis: str
    host_steps: Mapping[str, Seconds] = field(default_factory=dict)
    modes: Mapping[str, Literal["eager", "compiled", "kernels"]] = field(default_factory=dict)
    kind: str = ""
    host_calls: Mapping[str, Seconds] = field(default_factory=dict)

    def over(self, default: "Calibration") -> "Calibration":
        """This measurement, with the figures of `default` for everything that was not measured.

        `calibrate` steps each environment alone. If `default` has the time of a call and of each step in it, both are
        multiplied by the ratio of the sums.
        """
        speeds = {name: speed.over(default.of(name)) for name, speed in self.speeds.items()}
        host_steps, host_calls = {**default.host_steps}, {**default.host_calls}
        for name, alone in self.host_steps.items():
            call, step = default.host_calls.get(name, 0.0), default.host_steps.get(name, 0.0)
            host_steps[name] = alone * step / (call + step) if step else alone
            host_calls[name] = alone - host_steps[name]
        return Calibration({**default.speeds, **speeds}, self.basis, host_steps, self.modes, host_calls=host_calls)

    def of(self, yardstick: str) -> Speed:
        """The speed for a yardstick; the speed for `USUAL` if the yardstick was not measured."""
        return self.speeds.get(yardstick, self.speeds[USUAL])

    def priced(self, cost: Cost) -> Speed:
        """The speed that prices a run."""
        return self.speeds.get(cost.priced_as) or self.of(cost.speed)

    def seconds(self, cost: Cost, mode: str, width: int) -> float:
        """Estimated seconds of a pack of such runs without compiling.  Its steps on the host run one after another."""
        speed = self.priced(cost)
        return (
            speed.seconds(mode, width, cost.updates, cost.flops, cost.parameters)
            + speed.seconds_of_forwards(mode, width, cost.forwards, cost.forward_flops)
            + speed.seconds_of_forwards("eager", width, cost.looks, cost.look_flops)
            + speed.seconds("eager", width * cost.pass_runs, cost.passes, cost.pass_flops // cost.pass_runs)
            + sum(self._stepping(cost, name, width) for name in cost.host_steps)
        )

    def _stepping(self, cost: Cost, name: str, width: int) -> float:
        """Estimated seconds of a pack's steps in an environment."""
        steps = cost.host_steps[name]
        in_calls = cost.host_calls.get(name, steps) * self.host_calls.get(name, 0.0)
        return in_calls + width * steps * self.host_steps.get(name, HOST_STEP_SECONDS)


def makespan(held: Sequence[float], waiting: Sequence[float]) -> float:
    """Seconds until the last pack ends, if each worker takes the next pack as soon as it is free.

    held: seconds that each worker still needs for its pack, 0 without a pack; at least one worker. waiting: seconds of
    the other packs, in the order that workers take them.
    """
    ends = list(held)
    heapq.heapify(ends)
    for seconds in waiting:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


@dataclass(frozen=True)
class Rule:
    """The rule for the mode of a run.

    mode: the fastest mode. from_seconds: a run is eager if the estimated saving of that mode is smaller than this.
    """

    mode: str
    from_seconds: float


def default_calibration(kind: str) -> Calibration:
    """The shipped figures, for a device kind without a measurement."""
    return _by_kind(kind, CALIBRATIONS)


def deciding_speed(kind: str, yardstick: str) -> Speed:
    """The figures that decide for `mode=auto` on a kind of device.

    They differ from the shipped figures that price a plan: a better price must not change a run's mode, and with it the
    numbers of a command.
    """
    speeds = _by_kind(kind, DECIDING)
    return speeds.get(yardstick, speeds[USUAL])


def _by_kind(kind: str, table: Mapping[str, Any]) -> Any:
    if not is_cpu(kind):
        return table["gpu"]
    return table["avx512" if instructions_of(kind) == "avx512" else "avx2"]


def rule_of(kind: str, yardstick: str) -> Rule:
    """The rule for the fastest mode on a kind of device; a yardstick without a rule takes the rule of `USUAL`."""
    rules = RULES_ON_A_CPU if is_cpu(kind) else RULES_ON_A_GPU
    return rules.get(yardstick, rules[USUAL])


def known_yardsticks() -> list[str]:
    """The sorted names of the yardsticks that have a rule."""
    return sorted(RULES_ON_A_CPU.keys() | RULES_ON_A_GPU.keys())


LEAST_SAVED = 3.0
"""CPU seconds that compiled code must save. A worker once took that long to read graphs from the disk. It now takes
0.2, but with a smaller number short runs would get another mode, and other last digits.
"""
BY_KERNELS = Rule("kernels", LEAST_SAVED)
# The figures are for images of 32 × 32 pixels. For 8 × 8 pixels a run saves 2.4 times as much.
CONVOLVING = Rule("kernels", LEAST_SAVED / 2)
RULES_ON_A_CPU = {"dense": BY_KERNELS, "convolving": CONVOLVING, "boards": BY_KERNELS, "ppo": BY_KERNELS}
# The first worker compiles, and later workers find its graphs on the disk. The saving corresponds to some 2,000
# updates in the yardsticks.
RULES_ON_A_GPU = {name: Rule("compiled", 15.0) for name in ("dense", "convolving", "boards")}
_SHIPPED = table_in("plan/shipped.yaml")
COMPILING: Mapping[str, Any] = _SHIPPED["compiling"]
"""Seconds of the first compilation."""
STARTING: Mapping[str, float] = _SHIPPED["starting"]
"""CPU seconds of a command in addition to training: the command itself, a worker, its graphs, and each pack."""
DECIDING: Mapping[str, Mapping[str, Speed]] = {
    kind: {name: object_of(Speed, speed) for name, speed in speeds.items()}
    for kind, speeds in _SHIPPED["deciding"].items()
}
"""The figures that decide for `mode=auto`: kind of device → yardstick → speed."""


def _shipped() -> Iterator[tuple[str, Calibration]]:
    """The shipped calibrations.  Speeds that a CPU's table lacks are the AVX-512 table's, times its factors."""
    avx512 = object_of(Calibration, _SHIPPED["avx512"])
    for kind in ("avx2", "avx512", "gpu"):
        table = {**_SHIPPED[kind], **_SHIPPED["environments"]}
        own = object_of(Calibration, {"speeds": {}, **table})
        if "slower" in table:
            own = replace(own, speeds={name: speed.scaled(table["slower"]) for name, speed in avx512.speeds.items()})
        yield kind, own


CALIBRATIONS = dict(_shipped())
AVX2, AVX512, GPU = (CALIBRATIONS[name] for name in ("avx2", "avx512", "gpu"))
