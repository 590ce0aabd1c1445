"""Two worker processes against one: whether packs beside each other disturb each other."""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from launch.plan.timing import Contender
from launch.work.process import prepare_compiling, prepare_process
from plasticity_lab.agents.supervised.workload import Workload
from plasticity_lab.agents.supervised.yardstick import Packed


class Workers:
    """Processes that train a pack each, on demand."""

    def __init__(self, lines: list[Connection]) -> None:
        self.lines = lines
        self.used = 0.0

    def burst(self, many: int) -> None:
        """One burst by each of the first `many` workers, all at once."""
        for line in self.lines[:many]:
            line.send(True)
        self.used += sum(line.recv() for line in self.lines[:many])

    def busy(self) -> float:
        """CPU seconds that all have used."""
        return self.used


@contextmanager
def workers(workload: Workload, width: int, mode: str, bursts: int) -> Iterator[list[Contender]]:
    """One worker process and two, as contenders; a burst of theirs is `bursts` of a pack's."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    started = [
        context.Process(target=_serve, args=(theirs, workload, width, mode, bursts), daemon=True) for _, theirs in pipes
    ]
    for process in started:
        process.start()
    both = Workers([ours for ours, _ in pipes])
    run_steps = bursts * width * workload.burst
    facts = {"network": workload.network, "activation": workload.activation, "mode": mode, "width": width}
    try:
        yield [
            Contender("one worker process", facts, run_steps, lambda: both.burst(1), 1, both.busy),
            Contender("two worker processes", facts, 2 * run_steps, lambda: both.burst(2), 2, both.busy),
        ]
    finally:
        for line in both.lines:
            line.send(False)
        for process in started:
            process.join()


def _serve(line: Connection, workload: Workload, width: int, mode: str, bursts: int) -> None:
    prepare_process()
    if mode == "compiled":
        prepare_compiling()
    pack = Packed(workload, width, mode, "cpu")
    while line.recv():
        start = time.process_time()
        for _ in range(bursts):
            pack.burst()
        line.send(time.process_time() - start)
