"""The highest speed of PPO on one core, as a share of the core's rate of stepping an environment without learning.

    python -m launch.bench.body_limits [--bodies hopper,ant] [--width 8]

With CleanRL's settings PPO acts once in every step and learns from it ten times, in minibatches of 64. This takes at
least the time of its matrix products and of Adam's memory traffic. Both are measured here: the products at the core's
fastest rate, and as torch's batched products of exactly these shapes. All other work (activations, the loss,
normalisation, episodes) is left out, so the shares are upper bounds.

Legend: K runs of a pack, I inputs and O outputs of a layer.
"""

from collections.abc import Callable, Iterable, Iterator
from math import prod
from statistics import median

import torch

from launch.bench.acting import body_alone
from launch.bench.choices import MUJOCO, parser_of
from launch.bench.limits import ADAM_BYTES, STATE_BYTES, bandwidth_of, rate_of_convolutions, rate_of_products
from launch.bench.plain_ppo import EPOCHS, MINIBATCH
from launch.plan.timing import Contender, interleaved, one_core
from launch.work.process import prepare_process
from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.body import Body
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.records.provenance import cpu_model
from plasticity_lab.stacking.run_axis import aligned

WIDTH = 64
"""The width of the two hidden layers of policy and value."""
BURST, ROUNDS = 20, 15
UPDATES = EPOCHS / MINIBATCH
"""Updates per step: each step is in ten minibatches of 64 steps."""

Product = tuple[int, int, int]
"""A matrix product of one run, (rows, inner) times (inner, columns): rows, inner, columns."""


def flops(products: Iterable[Product]) -> int:
    """Operations."""
    return sum(2 * rows * inner * columns for rows, inner, columns in products)


def layers_of(body: Body) -> Iterator[tuple[int, int]]:
    """(I, O) of every layer, policy and value."""
    inputs = prod(body.observation)
    for outputs in (body.actions, 1):
        yield from ((inputs, WIDTH), (WIDTH, WIDTH), (WIDTH, outputs))


def of_an_update(body: Body) -> list[Product]:
    """Forward, the gradients of the weights, and the gradients of the inputs of all layers but the first."""
    products = []
    for inputs, outputs in layers_of(body):
        products += [(MINIBATCH, inputs, outputs), (inputs, MINIBATCH, outputs)]
        if inputs == WIDTH:
            products.append((MINIBATCH, outputs, inputs))
    return products


def of_an_action(body: Body, rows: int = 1) -> list[Product]:
    """Forward.  rows: a pack takes more than it has environments, see `aligned`."""
    return [(rows, inputs, outputs) for inputs, outputs in layers_of(body)]


def parameters_of(body: Body) -> int:
    """Numbers of a run that Adam changes."""
    return sum((inputs + 1) * outputs for inputs, outputs in layers_of(body)) + body.actions


def flops_a_step(body: Body) -> float:
    """Operations in the products of one step of one run."""
    return UPDATES * flops(of_an_update(body)) + flops(of_an_action(body))


def _batched(products: list[Product], width: int) -> Callable[[], object]:
    """Takes them for K runs at once, by torch."""
    pairs = [(torch.rand(width, rows, inner), torch.rand(width, inner, columns)) for rows, inner, columns in products]
    return lambda: [torch.bmm(left, right) for left, right in pairs * BURST]


def _line(body: Body, width: int, rate: float) -> str:
    burst, steps = body_alone(body, width, BURST)
    contenders = [
        Contender("body", {}, steps, burst),
        Contender("update", {}, BURST * width, _batched(of_an_update(body), width)),
        Contender("action", {}, BURST * width, _batched(of_an_action(body, aligned(1)), width)),
    ]
    timings = interleaved(contenders, ROUNDS)
    alone, update, action = (median(timing.busy) / timing.contender.run_steps for timing in timings)
    adam = UPDATES * ADAM_BYTES * parameters_of(body) / bandwidth_of(width * parameters_of(body) * STATE_BYTES, "cpu")
    operations = flops_a_step(body)
    products, by_torch = operations / rate, UPDATES * update + action + adam
    shares = [f"{100 * alone / (alone + learning):8.0f} %" for learning in (products + adam, by_torch)]
    microseconds = [f"{1e6 * seconds:10.1f}" for seconds in (alone, products, adam, by_torch)]
    return "".join([f"{body.name:12}", f"{operations / 1e6:8.2f}", *microseconds, *shares])


def main() -> int:
    """The command.  Returns its exit status."""
    parser = parser_of("body_limits", __doc__)
    parser.add_argument("--bodies", default=",".join(MUJOCO), help=f"of {', '.join(MUJOCO)}")
    parser.add_argument("--width", type=int, default=8, help="runs of the pack")
    options = parser.parse_args()
    prepare_process()
    with one_core():
        rate = max(*(rate_of_products(size, "cpu") for size in (256, 512)), rate_of_convolutions())
        print(f"{cpu_model()}: {rate / 1e9:.0f} GFLOP/s at most; a step of one of {options.width} runs, in µs of CPU")
        print("body          MFLOP      body  products      Adam  by torch  at most  by torch")
        for name in options.bodies.split(","):
            print(_line(body_named(name), options.width, rate), flush=True)
    return 0


if __name__ == "__main__":
    leave(status_of(main))
