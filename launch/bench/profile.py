"""The parts of a step's time.

    python -m launch.bench.profile [--network mlp|cnn] [--width 8] [--mode compiled|kernels] [--device cpu]

A burst of the bench runs under torch's profiler, which counts each library call and each compiled graph separately.
"""

import time
from collections.abc import Iterable

from torch.profiler import ProfilerActivity, profile

from launch.bench.choices import parser_of
from launch.plan.device import devices, kind_of
from launch.work.process import prepare_compiling, prepare_process
from plasticity_lab.agents.supervised.workload import Packed, Workload
from plasticity_lab.agents.supervised.workload_settings import SETTINGS
from plasticity_lab.process.exits import leave, status_of

PRODUCTS = ("bmm", "addmm", "convolution", "gemm", "::mm", "plasticity_lab::")
"""Parts of the names of library calls and of our kernels that multiply matrices.

`linear_adam` also takes the optimizer's step. The rest of a step is in the compiled graph's loops.
"""
LARGEST = 8
"""The number of calls that are listed, by the time that they take without their inner calls."""
GRAPH = "CompiledFxGraph"
LOOPS, PRODUCT, DISPATCH = "fused loops", "matrix products", "calls, copies, the rest"
WARM_UP = 2


def shares(seconds: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The shares of time by kind of call; calls are (name, own time) pairs, and the shares add up to 1."""
    by_kind = dict.fromkeys((PRODUCT, LOOPS, DISPATCH), 0.0)
    for name, of_call in seconds:
        kind = PRODUCT if any(word in name for word in PRODUCTS) else LOOPS if GRAPH in name else DISPATCH
        by_kind[kind] += of_call
    total = sum(by_kind.values())
    return {kind: of_kind / total for kind, of_kind in by_kind.items()}


def main() -> int:
    """The command.  Returns its exit status."""
    parser = parser_of("profile", __doc__)
    parser.add_argument("--network", choices=SETTINGS, default="mlp")
    parser.add_argument("--width", type=int, default=8, help="runs of the pack")
    parser.add_argument("--mode", choices=("compiled", "kernels"), default="compiled")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    device = devices(options.device)[0]
    prepare_process()
    prepare_compiling()
    packed = Packed(Workload(options.network), options.width, options.mode, device)
    for _ in range(WARM_UP):
        packed.burst()
    gpu = [] if device == "cpu" else [ProfilerActivity.CUDA]
    with profile(activities=[ProfilerActivity.CPU, *gpu]) as measured:
        began = time.process_time()
        packed.burst()
        taken = 1e6 * (time.process_time() - began)
    calls = measured.key_averages()
    # The profiler's times are wall-clock times, which include other processes: only the shares count.
    part = taken / sum(call.self_cpu_time_total for call in calls)
    steps = packed.run_steps / options.width
    what_ran = f"{options.network}, {options.width} runs, {options.mode}, {kind_of(device)}"
    print(f"{what_ran}: {taken / steps:,.0f} µs of CPU time a step, the profiler's own included")
    for what, share in shares((call.key, call.self_cpu_time_total) for call in calls).items():
        print(f"  {100 * share:4.0f} %  {what}")
    print("\nthe largest of them")
    for call in sorted(calls, key=lambda call: -call.self_cpu_time_total)[:LARGEST]:
        print(f"  {part * call.self_cpu_time_total / steps:6,.0f} µs  {call.count / steps:5.1f} calls  {call.key}")
    return 0


if __name__ == "__main__":
    leave(status_of(main))
