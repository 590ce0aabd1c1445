"""What is compared with what: each comparison is a row of contenders measured in turn."""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from launch.bench.choices import Choices
from launch.bench.limits import Limits, Work, limits_of, work_of
from launch.bench.processes import workers
from launch.bench.usual import Usual
from launch.plan.device import cores
from launch.plan.timing import Contender, Timing, interleaved, on
from plasticity_lab.agents.supervised.workload import Workload
from plasticity_lab.agents.supervised.yardstick import Packed


@dataclass
class Comparison:
    """Timings of contenders that were measured in turn; ratios are against the first.

    part: one of PARTS. clock: "busy" (CPU time, which neighbours on the machine disturb less) or "wall". limits, work:
    the machine's and a run-step's, where they were measured.
    """

    part: str
    name: str
    timings: list[Timing]
    clock: str
    limits: Limits | None = None
    work: Work | None = None


def usual(workload: Workload, device: str) -> Contender:
    """The script people write."""
    script = Usual(workload, device)
    return Contender("usual script", _facts(workload, "eager", 1), script.run_steps, script.burst)


def packed(workload: Workload, width: int, mode: str, device: str) -> Contender:
    """The engine."""
    pack = Packed(workload, width, mode, device)
    return Contender(f"packed, {mode}", _facts(workload, mode, width), pack.run_steps, pack.burst)


def jax(workload: Workload, width: int) -> Contender:
    """The peer; JAX must be installed."""
    from launch.bench.jax_peer import JaxPeer  # a library that most do not have

    peer = JaxPeer(workload, width)
    return Contender("JAX", _facts(workload, "compiled", width), peer.run_steps, peer.burst)


def _facts(workload: Workload, mode: str, width: int) -> dict[str, object]:
    return {
        "network": workload.network,
        "activation": workload.activation,
        "intervention": workload.intervention,
        "mode": mode,
        "width": width,
    }


def jax_missing(device: str) -> str | None:
    """Why JAX is not measured, in a sentence; None where it is."""
    if importlib.util.find_spec("jax") is None:
        return "JAX is not measured: it is not installed; .venv/bin/pip install -e '.[bench]' does that."
    from launch.bench import jax_peer

    there = jax_peer.platform()
    wanted = "cpu" if device == "cpu" else "gpu"
    return None if there == wanted else f"JAX is not measured: it computes on {there} here, not on {device}."


def run(choices: Choices, say: Callable[[str], None]) -> Iterator[Comparison]:
    """All that was asked for, one comparison after another."""
    with on(choices.device):  # JAX starts its threads when it is first asked anything
        why = jax_missing(choices.device)
    if why:
        say(why)
    for network in choices.networks:
        plain = Workload(network, choices.activations[0], steps=choices.steps)
        measures: dict[str, Callable[[], Comparison | None]] = {
            "widths": lambda plain=plain: _widths(plain, choices, with_jax=why is None),
            "activations": lambda plain=plain: _activations(plain, choices),
            "interventions": lambda plain=plain: _interventions(plain, choices),
            "records": lambda plain=plain: _records(plain, choices, say),
            "processes": lambda plain=plain: _processes(plain, choices, say),
        }
        for part in (part for part in choices.parts if part in measures):
            say(f"{network}: {part} …")
            comparison = measures[part]()
            if comparison is not None:
                yield comparison
    for body in choices.bodies if "bodies" in choices.parts else ():
        say(f"{body} …")
        yield _bodies(body, choices)
    for network in choices.value_networks if "values" in choices.parts else ():
        say(f"{network}: values …")
        yield _values(network, choices)
    for network in choices.value_networks if "heads" in choices.parts else ():
        say(f"{network}: heads …")
        yield _heads(network, choices)


def _measured(
    part: str, words: str, workload: Workload, choices: Choices, build: Callable[[], list[Contender]]
) -> Comparison:
    with on(choices.device):
        timings = interleaved(build(), choices.repeats)
    return Comparison(part, f"{workload.network}, {words}", timings, _clock(choices))


def _clock(choices: Choices) -> str:
    return "busy" if choices.device == "cpu" else "wall"


def _widths(workload: Workload, choices: Choices, with_jax: bool) -> Comparison:
    widths = choices.widths_of(workload.network)

    def build() -> list[Contender]:
        found = [usual(workload, choices.device)]
        for width in widths:
            found += [packed(workload, width, mode, choices.device) for mode in choices.modes]
            found += [jax(workload, width)] if with_jax else []
        return found

    comparison = _measured("widths", "packs of every width", workload, choices, build)
    with on(choices.device):
        comparison.limits = limits_of(workload, sorted({1, *widths}), choices.device)
    comparison.work = work_of(workload)
    return comparison


def _activations(workload: Workload, choices: Choices) -> Comparison:
    others = [Workload(workload.network, name, steps=workload.steps) for name in choices.activations]
    return _measured(
        "activations",
        "activations",
        workload,
        choices,
        lambda: [packed(other, choices.width_of(workload.network), choices.mode, choices.device) for other in others],
    )


def _interventions(workload: Workload, choices: Choices) -> Comparison:
    others = [Workload(workload.network, workload.activation, name, workload.steps) for name in choices.interventions]
    return _measured(
        "interventions",
        f"interventions, {choices.mode}",
        workload,
        choices,
        lambda: [packed(other, choices.width_of(workload.network), choices.mode, choices.device) for other in others],
    )


def _records(workload: Workload, choices: Choices, say: Callable[[str], None]) -> Comparison | None:
    if importlib.util.find_spec("pyarrow") is None:
        say("Records are not measured: pyarrow is not installed.")
        return None
    from launch.bench.stored import contenders  # needs pyarrow, which a bare GPU machine does not have

    # Short tasks, beside which what does not depend on their length can be seen.
    short = Workload(workload.network, workload.activation, steps=workload.burst // 10)
    timings = interleaved(contenders(short, choices.width_of(short.network), choices.device), choices.repeats)
    return Comparison(
        "records", f"{workload.network}, records and checkpoints off and on, beside short tasks", timings, "wall"
    )


def _processes(workload: Workload, choices: Choices, say: Callable[[str], None]) -> Comparison | None:
    if choices.device != "cpu" or cores() < 2:
        say("Two worker processes are not measured: there is one core, or one GPU.")
        return None
    bursts = 1 if choices.steps else 2
    with workers(workload, choices.width_of(workload.network), choices.mode, bursts) as both:
        timings = interleaved(both, choices.repeats)
    return Comparison("processes", f"{workload.network}, worker processes", timings, "wall")


def _bodies(body: str, choices: Choices) -> Comparison:
    """One body; the first is measured at every width."""
    from launch.bench.bodies import contenders  # needs MuJoCo, which a bare GPU machine does not have

    widths = choices.widths or (choices.defaults.ppo_widths if body == choices.bodies[0] else (8,))
    with on(choices.device):
        modes = [mode for mode in choices.modes if mode != "eager"] or ["eager"]
        timings = interleaved(contenders(body, widths, modes, choices.device), choices.repeats)
    return Comparison("bodies", f"PPO on {body}", timings, _clock(choices))


def _values(network: str, choices: Choices) -> Comparison:
    """One network, at every width."""
    from launch.bench.values import contenders  # Hydra, which a bare GPU machine does not have

    widths = choices.widths or choices.defaults.value_widths[network]
    with on(choices.device):
        timings = interleaved(contenders(network, widths, choices.modes, choices.device), choices.repeats)
    words = f"Rainbow with {network}, updates of a run, each with its acting"
    return Comparison("values", words, timings, _clock(choices))


def _heads(network: str, choices: Choices) -> Comparison:
    """Alone, as their runs on pixels are; in the widest pack that is asked for."""
    from launch.bench.values import heads  # Hydra, which a bare GPU machine does not have

    mode = max(choices.modes, key=("eager", "compiled", "kernels").index, default="eager")
    with on(choices.device):
        found = heads(network, max(choices.widths or (1,)), mode, choices.device)
        timings = interleaved(found, choices.repeats)
    return Comparison("heads", f"Rainbow with {network} and other heads, updates of a run", timings, _clock(choices))
