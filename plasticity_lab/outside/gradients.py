"""Inner products of single examples' gradients, by the parameters of any module's linear layers and convolutions.

Legend: B examples, R positions of an example, I inputs and O outputs of a layer, P numbers of a patch.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod

import torch
from torch import Tensor
from torch.nn.functional import pad, unfold

from plasticity_lab.diagnostics.places import added_up
from plasticity_lab.diagnostics.sensitivities import Gram
from plasticity_lab.errors import InputError
from plasticity_lab.outside.functions import WITHOUT_PRODUCT
from plasticity_lab.outside.layout import EXAMPLES, has_examples, in_rows
from plasticity_lab.outside.losses import close
from plasticity_lab.outside.network import LayerCall
from plasticity_lab.outside.passes import Gradients, Passes, examples_of

AT_ONCE = 2**25
"""Numbers of single examples' gradients that are in memory at a time."""
AT_A_TIME = 16
"""Examples with patches in memory at a time."""


def grams(
    passes: Passes, gradients: Gradients, parameters: Mapping[str, Tensor], trained: Collection[str]
) -> tuple[dict[str, Gram], Tensor]:
    """The inner products by the weights and biases of each layer, (1, B, B) each; and by all of them together.

    The products of a layer follow from its input and the gradient by its output, if it is called once and nothing else
    reads its parameters; all others from a pass for each example. A parameter that several layers share counts once.
    trained: the parameters that count.
    """
    found, left = dict[str, Tensor](), dict[str, None]()
    calls = [call for call in passes.network.layers if call.node.name not in WITHOUT_PRODUCT]
    for call in calls:
        own = [name for name in (*call.weight, *call.bias) if name in trained]
        if _is_plain(call):
            found |= {name: value for name, value in _of_layer(call, gradients).items() if name in own}
        else:
            left |= dict.fromkeys(own)
    found |= _one_by_one(passes, gradients, parameters, [*left])
    if not found:
        raise InputError("The module has no linear layer or convolution with parameters that are trained.")
    nothing = torch.zeros_like(next(iter(found.values())))

    def total(names: Sequence[str]) -> Tensor:
        there = [found[name] for name in names if name in found]
        return added_up(there or [nothing]).unsqueeze(0)

    return {call.name: Gram(total(call.weight), total(call.bias)) for call in calls}, total([*found])


def _is_plain(call: LayerCall) -> bool:
    node = call.node
    if node.name not in ("linear", "conv1d", "conv2d") or not has_examples(node.layout):
        return False
    direct = [source for source in node.sources if not source.data]
    if any(source.kind != "parameter" or len(source.into) != 1 for source in direct):
        return False
    if sum(source.data for source in node.sources) != 1 or len(call.weight) != 1:
        return False
    first = (node.layout or ((),))[0]
    return node.name == "linear" or (len(first) == 1 and first[0].kind == EXAMPLES)


def _of_layer(call: LayerCall, gradients: Gradients) -> dict[str, Tensor]:
    given, delta, layout = gradients.given[call.name], gradients.deltas[call.name], call.node.layout or ()
    if call.node.name == "linear":
        x, rows = (in_rows(value, layout, gradients.examples) for value in (given, delta))
        weight, bias = _of_rows(x, rows), rows.sum(dim=1)
    else:
        weight = _of_convolution(call, given, delta)
        bias = delta.flatten(2).sum(dim=2)
    return {call.weight[0]: weight, **{name: _products(bias) for name in call.bias}}


def _products(rows: Tensor) -> Tensor:
    """(B, *) → (B, B) float64."""
    own = rows.flatten(1).double()
    return own @ own.t()


def _of_rows(x_BRI: Tensor, delta_BRO: Tensor) -> Tensor:
    """The gradient of an example is Σ x δᵀ over its rows."""
    if x_BRI.shape[1] == 1:
        return _products(x_BRI) * _products(delta_BRO)
    total = x_BRI.new_zeros(len(x_BRI), len(x_BRI), dtype=torch.float64)
    for own in delta_BRO.split(max(1, AT_ONCE // (len(x_BRI) * x_BRI.shape[2])), dim=2):
        total += _products(torch.bmm(x_BRI.transpose(1, 2), own))
    return total


def _of_convolution(call: LayerCall, x: Tensor, delta: Tensor) -> Tensor:
    """Each group of channels is a linear layer of patches; R counts the places of the kernel."""
    how = call.node.convolution
    assert how is not None
    if flat := call.node.name == "conv1d":
        x, delta = x.unsqueeze(2), delta.unsqueeze(2)
    kernel, stride, dilation = ((1, *each) if flat else each for each in (how.kernel, how.stride, how.dilation))
    around = [edge for edges in reversed(how.margins) for edge in edges]

    def patches(part: Tensor) -> Tensor:
        return unfold(pad(part, around), kernel, dilation=dilation, stride=stride)

    total = x.new_zeros(len(x), len(x), dtype=torch.float64)
    for own, outputs in zip(x.chunk(how.groups, 1), delta.flatten(2).chunk(how.groups, 1), strict=True):
        numbers = own.shape[1] * prod(kernel)
        for part_BOR in outputs.split(max(1, AT_ONCE // (len(x) * numbers)), dim=1):
            pairs = zip(own.split(AT_A_TIME), part_BOR.split(AT_A_TIME), strict=True)
            total += _products(torch.cat([torch.bmm(patches(x), each.transpose(1, 2)) for x, each in pairs]))
    return total


def _one_by_one(
    passes: Passes, gradients: Gradients, parameters: Mapping[str, Tensor], names: Sequence[str]
) -> dict[str, Tensor]:
    """By a forward and a backward pass for each example.  Raises InputError if an example's loss is another then."""
    if not names:
        return {}
    fixed = {name: value[0].detach() for name, value in parameters.items()}
    products = dict[str, Tensor]()
    for part in _parts(names, fixed, gradients.examples):
        rows: dict[str, list[Tensor]] = {name: [] for name in part}
        for at in range(gradients.examples):
            one = slice(at, at + 1)
            own = {name: fixed[name].clone().requires_grad_() for name in part}
            inputs, targets = examples_of(passes.inputs, one), examples_of(passes.targets, one)
            with torch.enable_grad():
                loss = passes.one({**fixed, **own}, inputs, targets)
            if not close(loss.detach(), gradients.losses[one]):
                raise InputError("The module gives another loss for an example alone than among others.")
            found = torch.autograd.grad(loss.sum(), [*own.values()], allow_unused=True, materialize_grads=True)
            for name, value in zip(part, found, strict=True):
                rows[name].append(value)
        products |= {name: _products(torch.stack(values)) for name, values in rows.items()}
    return products


def _parts(names: Sequence[str], fixed: Mapping[str, Tensor], examples: int) -> Iterator[list[str]]:
    """The names in groups; the gradients by one group fit into memory together."""
    part, size = list[str](), 0
    for name in names:
        numbers = fixed[name].numel() * examples
        if part and size + numbers > 8 * AT_ONCE:
            yield part
            part, size = [], 0
        part.append(name)
        size += numbers
    yield part
