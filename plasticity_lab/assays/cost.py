"""The cost of the trials of an assay, before they start."""

from dataclasses import replace
from math import prod
from typing import Any

from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised.score import AT_ONCE
from plasticity_lab.agents.update import of_kernels
from plasticity_lab.assays.assay import BRANCHES, Assay
from plasticity_lab.assays.copies import parts_of_copies
from plasticity_lab.assays.readings import measures_of
from plasticity_lab.networks.model import Model

BYTES_A_PARAMETER = 20
"""A parameter, its gradient, two moments and one copy for the intervention, in float32."""


def cost_of_trials(assay: Assay, parts: Parts[Any], model: Model, trials: int) -> Cost:
    """Steps, operations and bytes of the trials on one run. An update trains all of its copies."""
    copies = assay.repetitions * len(BRANCHES)
    of_copies = parts_of_copies(assay, parts, [0] * (len(parts.init_seeds) * assay.repetitions))
    work, between = model.work(), sum(prod(unit.produced) for unit in model.units)
    inputs = prod(model.inputs[model.only_body])
    passes = trials * (assay.points + 1) * -(-assay.examples // AT_ONCE)
    flops = 6 * work * assay.batch_size + of_copies.operations(model.size, 2 * work * assay.batch_size)
    return Cost(
        length=trials * assay.steps,
        unit="steps",
        updates=trials * assay.steps,
        flops=copies * flops,
        memory=(
            Share(
                copies * (BYTES_A_PARAMETER + 4 * of_copies.copies) * model.size,
                f"{copies} copies of the {model.size:,} parameters of its network",
                "fewer assay.repetitions",
            ),
            Share(4 * copies * (2 * AT_ONCE * (inputs + between) + assay.examples), "examples", "fewer assay.examples"),
        ),
        speed="convolving" if any(unit.kind == "channel" for unit in model.units) else "dense",
        rows=2 * trials,
        epochs=trials,
        parameters=0,
        forwards=copies * passes,
        forward_flops=2 * AT_ONCE * work,
        **of_kernels(of_copies, [model]),
    )


def with_trials(cost: Cost, assay: Assay, parts: Parts[Any], model: Model) -> Cost:
    """The cost of a run with an assay that is tried while it trains: trials count as passes without a step."""
    tasks = parts.benchmark.tasks
    tried = [task for task in range(tasks) if not (task + 1) % assay.every and assay.applies(task, tasks)]
    own = cost_of_trials(assay, parts, model, len(tried))
    evaluated = own.forwards * own.forward_flops
    passes, flops = cost.passes + own.updates, cost.passes * cost.pass_flops + own.updates * own.flops + evaluated
    return replace(
        cost,
        passes=passes,
        pass_flops=flops // max(1, passes),
        pass_runs=assay.repetitions * len(BRANCHES),
        looked=cost.looked + tasks * len(measures_of(assay.of_classes, assay.tests)),
        memory=(*cost.memory, *own.memory),
    )
