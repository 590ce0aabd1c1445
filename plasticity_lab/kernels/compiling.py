"""What torch's compiler is told of the kernels. This module is imported where something is compiled."""

import torch
from torch._inductor.lowering import add_needs_realized_inputs


def lay_out_once() -> None:
    """What is computed of several tensors, as pixels are of images and places, is computed once for all its kernels.

    torch finds out by itself that a kernel reads its inputs from memory, but only when it meets the first one: what
    that is given would be computed for each of its readers anew. What is made of one tensor alone, as ReLU is, torch
    computes for each of them all the same.
    """
    for name in torch._C._dispatch_get_all_op_names():
        space, _, operator = name.partition("::")
        if space == "plasticity_lab":
            add_needs_realized_inputs(getattr(torch.ops.plasticity_lab, operator.partition(".")[0]))
