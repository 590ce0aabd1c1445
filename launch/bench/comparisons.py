"""The comparisons of the bench. The contenders of a comparison are measured in turn."""

import importlib.util
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from launch.bench.choices import Choices
from launch.bench.usual import Limits, Usual, Work, limits_of, work_of
from launch.plan.device import cores
from launch.plan.timing import Contender, Timing, interleaved, on
from launch.work.process import prepare_compiling, prepare_process
from plasticity_lab.agents.supervised.workload import Packed, Workload
from plasticity_lab.agents.supervised.workload_settings import USUAL


@dataclass
class Comparison:
    """Timings of contenders that were measured in turn; ratios are against the first.

    part: one of PARTS. clock: "busy" (CPU time, which other processes on the machine disturb less) or "wall". limits:
    the machine's. work: in a run-step. Both are None if they were not measured.
    """

    part: str
    name: str
    timings: list[Timing]
    clock: str
    limits: Limits | None = None
    work: Work | None = None


class NotMeasured(Exception):
    """Why this machine cannot measure a comparison, in a sentence."""


def usual(workload: Workload, device: str) -> Contender:
    """The script people write."""
    script = Usual(workload, device)
    return Contender("usual script", _facts(workload, "eager", 1), script.run_steps, script.burst)


def packed(workload: Workload, width: int, mode: str, device: str) -> Contender:
    """The engine."""
    pack = Packed(workload, width, mode, device)
    return Contender(f"packed, {mode}", _facts(workload, mode, width), pack.run_steps, pack.burst)


def jax(workload: Workload, width: int) -> Contender:
    """The same step in JAX, which must be installed."""
    from launch.bench.jax_peer import JaxPeer  # an optional library

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
    """Why JAX is not measured, in a sentence; None if it can be measured."""
    if importlib.util.find_spec("jax") is None:
        return "JAX is not measured: it is not installed; .venv/bin/pip install -e '.[bench]' does that."
    from launch.bench import jax_peer

    platform = jax_peer.platform()
    wanted = "cpu" if device == "cpu" else "gpu"
    return None if platform == wanted else f"JAX is not measured: it computes on {platform} here, not on {device}."


def run(choices: Choices, say: Callable[[str], None]) -> Iterator[Comparison]:
    """The comparisons that were asked for, one after another."""
    with on(choices.device):  # JAX starts its threads when it is first asked anything
        why = jax_missing(choices.device)
    if why:
        say(why)
    for network in choices.networks:
        plain = Workload(network, choices.activations[0], steps=choices.steps)
        for part in (part for part in choices.parts if part in _OF_A_WORKLOAD):
            say(f"{network}: {part} …")
            try:
                yield _OF_A_WORKLOAD[part](plain, choices)
            except NotMeasured as reason:
                say(str(reason))
    for part, subjects, compared in (
        ("bodies", choices.bodies, _bodies),
        ("values", choices.value_networks, _values),
        ("heads", choices.value_networks, _heads),
    ):
        for subject in subjects if part in choices.parts else ():
            say(f"{subject}: {part} …")
            yield compared(subject, choices)


def _measured(part: str, name: str, choices: Choices, contenders: Callable[[], Sequence[Contender]]) -> Comparison:
    """Measures the contenders, which are made on the core that measures them."""
    with on(choices.device):
        timings = interleaved(contenders(), choices.repeats)
    return Comparison(part, name, timings, "busy" if choices.device == "cpu" else "wall")


def _widths(workload: Workload, choices: Choices) -> Comparison:
    widths = choices.widths_of(workload.network)
    with_jax = workload.network in USUAL and jax_missing(choices.device) is None

    def contenders() -> Iterator[Contender]:
        yield usual(workload, choices.device)
        for width in widths:
            for mode in choices.modes:
                yield packed(workload, width, mode, choices.device)
            if with_jax:
                yield jax(workload, width)

    comparison = _measured("widths", f"{workload.network}, packs of every width", choices, lambda: [*contenders()])
    with on(choices.device):
        comparison.limits = limits_of(workload, sorted({1, *widths}), choices.device)
    comparison.work = work_of(workload)
    return comparison


def _activations(workload: Workload, choices: Choices) -> Comparison:
    others = [Workload(workload.network, name, steps=workload.steps) for name in choices.activations]
    return _of_packs("activations", "activations", others, choices)


def _interventions(workload: Workload, choices: Choices) -> Comparison:
    others = [Workload(workload.network, workload.activation, name, workload.steps) for name in choices.interventions]
    return _of_packs("interventions", f"interventions, {choices.mode}", others, choices)


def _of_packs(part: str, words: str, workloads: Sequence[Workload], choices: Choices) -> Comparison:
    """Packs of one width and mode, one for each workload."""
    network = workloads[0].network
    width, mode, device = choices.width_of(network), choices.mode, choices.device
    return _measured(part, f"{network}, {words}", choices, lambda: [packed(w, width, mode, device) for w in workloads])


def _records(workload: Workload, choices: Choices) -> Comparison:
    if importlib.util.find_spec("pyarrow") is None:
        raise NotMeasured("Records are not measured: pyarrow is not installed.")
    from launch.bench.stored import contenders  # needs pyarrow, which a bare GPU machine does not have

    # In short tasks the costs that do not depend on a task's length are visible.
    short = Workload(workload.network, workload.activation, steps=workload.burst // 10)
    timings = interleaved(contenders(short, choices.width_of(short.network), choices.device), choices.repeats)
    name = f"{workload.network}, records and checkpoints off and on, with short tasks"
    return Comparison("records", name, timings, "wall")


def _processes(workload: Workload, choices: Choices) -> Comparison:
    """Two worker processes against one: whether packs that train at the same time disturb each other."""
    if choices.device != "cpu" or cores() < 2:
        raise NotMeasured("Two worker processes are not measured: there is one core, or one GPU.")
    bursts = 1 if choices.steps else 2
    with _workers(workload, choices.width_of(workload.network), choices.mode, bursts) as both:
        timings = interleaved(both, choices.repeats)
    return Comparison("processes", f"{workload.network}, worker processes", timings, "wall")


_OF_A_WORKLOAD: Mapping[str, Callable[[Workload, Choices], Comparison]] = {
    "widths": _widths,
    "activations": _activations,
    "interventions": _interventions,
    "records": _records,
    "processes": _processes,
}


def _bodies(body: str, choices: Choices) -> Comparison:
    """PPO in one environment; the first environment is measured at every width."""
    from launch.bench.acting import ppo  # needs Hydra, which a bare GPU machine does not have

    widths = choices.widths or (choices.defaults.ppo_widths if body == choices.bodies[0] else (8,))
    modes = [mode for mode in choices.modes if mode != "eager"] or ["eager"]
    return _measured("bodies", f"PPO on {body}", choices, lambda: ppo(body, widths, modes, choices.device))


def _values(network: str, choices: Choices) -> Comparison:
    """Rainbow with one network, at every width."""
    from launch.bench.acting import rainbow

    widths = choices.widths or choices.defaults.value_widths[network]
    name = f"Rainbow with {network}, updates of a run, each with its acting"
    return _measured("values", name, choices, lambda: rainbow(network, widths, choices.modes, choices.device))


def _heads(network: str, choices: Choices) -> Comparison:
    """Rainbow with each head, in packs of the largest width that is asked for; by default alone, as runs on pixels."""
    from launch.bench.acting import heads

    mode = max(choices.modes, key=("eager", "compiled", "kernels").index, default="eager")
    name = f"Rainbow with {network} and other heads, updates of a run"
    return _measured("heads", name, choices, lambda: heads(network, max(choices.widths or (1,)), mode, choices.device))


@contextmanager
def _workers(workload: Workload, width: int, mode: str, bursts: int) -> Iterator[list[Contender]]:
    """Two contenders: one worker process, and two at once. Each process trains a pack, `bursts` bursts at a time."""
    context, of_worker, used = multiprocessing.get_context("spawn"), (workload, width, mode), 0.0
    with (
        ProcessPoolExecutor(1, context, _begin, of_worker) as one,
        ProcessPoolExecutor(1, context, _begin, of_worker) as two,
    ):

        def burst(*workers: ProcessPoolExecutor) -> None:
            nonlocal used
            trained = [worker.submit(_train, bursts) for worker in workers]
            used += sum(seconds.result() for seconds in trained)

        facts = {"network": workload.network, "activation": workload.activation, "mode": mode, "width": width}
        run_steps = bursts * width * workload.burst
        yield [
            Contender("one worker process", facts, run_steps, lambda: burst(one), 1, lambda: used),
            Contender("two worker processes", facts, 2 * run_steps, lambda: burst(one, two), 2, lambda: used),
        ]


_packs: list[Packed] = []
"""The pack of a worker process."""


def _begin(workload: Workload, width: int, mode: str) -> None:
    """Begins a worker process."""
    prepare_process()
    if mode == "compiled":
        prepare_compiling()
    _packs.append(Packed(workload, width, mode, "cpu"))


def _train(bursts: int) -> float:
    """Trains in a worker process, and returns the CPU seconds."""
    start = time.process_time()
    for _ in range(bursts):
        _packs[0].burst()
    return time.process_time() - start
