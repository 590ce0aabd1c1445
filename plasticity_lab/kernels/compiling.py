"""What torch's compiler is told of the kernels. This module is imported where something is compiled."""

import torch
from torch._inductor.lowering import add_needs_realized_inputs


def lay_out_once() -> None:
    """What a kernel is given, a batch's pixels for example, is computed once for all kernels that read it.

    torch finds out by itself that a kernel reads its inputs from memory, but only when it meets the first one: what
    that is given would be computed for each of its readers anew.
    """
    for name in torch._C._dispatch_get_all_op_names():
        space, _, operator = name.partition("::")
        if space == "plasticity_lab":
            add_needs_realized_inputs(getattr(torch.ops.plasticity_lab, operator.partition(".")[0]))
