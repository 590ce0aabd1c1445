"""Losses of torch modules: the same whatever their reduction, held against a plain computation, or refused."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from plasticity_lab.diagnostics.curvature import Curvature
from plasticity_lab.diagnostics.feature_rank import srank
from plasticity_lab.diagnostics.gradient_noise import GradientNoise
from plasticity_lab.errors import InputError
from plasticity_lab.outside.measurement import measure
from tests.outside.test_in_place import Shared, data, seeded

EXAMPLES = 23
"""Three batches, the last one odd."""


def by_hand(module, x, labels):
    """Some of the numbers as one writes them down: example by example, and by the whole Hessian."""
    weights = dict(module.named_parameters())
    z = module.fc1(x)
    h1 = z.where(z > 0, 0.1 * z)
    z = module.fc2(h1)
    h2 = z.where(z > 0, 0.1 * z)

    def mean_loss(*values):
        named = dict(zip(weights, values, strict=True))
        return functional.cross_entropy(torch.func.functional_call(module, named, (x,)), labels)

    each = []
    for one, label in zip(x, labels, strict=True):
        loss = functional.cross_entropy(module(one[None]), label[None])
        each.append(torch.cat([own.flatten() for own in torch.autograd.grad(loss, [*weights.values()])]))
    gradients = torch.stack(each)
    mean = gradients.mean(0)
    noise = (gradients - mean).square().sum() / (len(x) - 1)
    sizes = [own.abs().mean(0) for own in (h1, h2)]
    dormant = torch.cat([own / own.mean() <= 0.1 for own in sizes])
    hessian = torch.autograd.functional.hessian(mean_loss, tuple(weights.values()))
    rows = [
        torch.cat([own.reshape(left.numel(), -1) for own in row], 1)
        for left, row in zip(weights.values(), hessian, strict=True)
    ]
    return {
        "dormant_units": dormant.double().mean().item(),
        "srank": srank(torch.linalg.svdvals(h2), 0.01).item(),
        "gradient_snr": (mean.square().sum() / noise).item(),
        "lambda_max": torch.linalg.eigvalsh(torch.cat(rows)).max().item(),
    }


def leaky(batches):
    """A module with one activation in place, and its numbers by hand."""
    module = seeded(Shared, nn.LeakyReLU(0.1, inplace=True))
    return module, by_hand(seeded(Shared, nn.LeakyReLU(0.1)), *batches.dataset.tensors)


@pytest.mark.parametrize(
    "loss",
    [
        None, nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="none"),
        lambda outputs, labels: functional.cross_entropy(outputs, labels, reduction="none"),
    ],
)  # fmt: skip
def test_numbers_are_those_of_a_plain_computation(loss):
    batches = data(6, examples=EXAMPLES)
    module, expected = leaky(batches)
    chosen = [] if loss is None else [loss]
    found = measure(module, batches, None, *chosen) | measure(
        module, batches, [Curvature(block="all", tolerance=1e-6)], *chosen
    )
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-6), name


def pairs(targets):
    return [(x, own) for (x, _), own in zip(data(6), targets.split(8), strict=True)]


@pytest.mark.parametrize("kind", [nn.MSELoss, nn.SmoothL1Loss, nn.BCEWithLogitsLoss])
def test_errors_of_several_outputs_are_averaged_over_them(kind):
    module, batches = seeded(Shared, nn.ReLU()), pairs(torch.rand(30, 3).double())

    def each(outputs, targets):
        return torch.stack([kind()(one, target) for one, target in zip(outputs, targets, strict=True)])

    chosen = [GradientNoise(), Curvature(block="all")]
    ours, theirs = measure(module, batches, chosen, kind()), measure(module, batches, chosen, each)
    assert ours == pytest.approx(theirs, rel=1e-6)
    with pytest.raises(InputError, match="reduction='sum'"):  # which is three times as large, by definition
        measure(module, batches, chosen, kind(reduction="sum"))


def probabilities():
    return torch.rand(30, 3).double().softmax(1)


@pytest.mark.parametrize(
    ("targets", "loss", "says"),
    [
        (torch.rand(30, 3), None, "MSELoss|square"),
        (torch.rand(30), None, "MSELoss|square"),
        (probabilities(), None, "CrossEntropyLoss"),
        (torch.rand(30, 3), nn.CrossEntropyLoss(), "probabilities"),
        (torch.zeros(30).long(), nn.CrossEntropyLoss(reduction="sum"), "reduction='sum'.*'none'"),
        (torch.zeros(30).long(), functional.cross_entropy, r"\(30,\)"),
        (torch.zeros(30).long(), lambda a, b: functional.cross_entropy(a, b, reduction="sum"), r"\(30,\)"),
        (torch.zeros(30).long(), lambda a, b: functional.cross_entropy(a, b).expand(len(a)), "other examples"),
        (torch.zeros(30).long(), lambda a, b: a.sum().item(), "float"),
        (torch.arange(30) % 3, nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2, 3]).double()), "mean"),
        (torch.arange(30) % 3, nn.CrossEntropyLoss(ignore_index=0), "mean"),
        (torch.full((30,), 3), None, "out of bounds"),
        (torch.zeros(30, 1).long(), None, "loss fails"),
        (torch.rand(30), nn.MSELoss(reduction="none"), "loss fails"),
        (torch.rand(30, 3), nn.MSELoss(reduction="none"), r"\(30, 3\)"),
    ],
)  # fmt: skip
def test_a_loss_that_does_not_fit_is_refused(targets, loss, says):
    with pytest.raises(InputError, match=says):
        measure(seeded(Shared, nn.ReLU()), pairs(targets), None, *([] if loss is None else [loss]))


def test_probabilities_are_a_cross_entropys_targets():
    found = measure(seeded(Shared, nn.ReLU()), pairs(probabilities()), None, nn.CrossEntropyLoss())
    assert found["lambda_max"] > 0


@pytest.mark.parametrize("targets", [torch.zeros(30).long(), torch.rand(30, 1).double()])
@pytest.mark.parametrize("loss", [None, nn.CrossEntropyLoss()])
def test_one_output_has_no_cross_entropy(targets, loss):
    module = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 1)).double()
    with pytest.raises(InputError, match=r"BCEWithLogits|square"):
        measure(module, pairs(targets), None, *([] if loss is None else [loss]))


def test_targets_that_are_laid_out_otherwise_than_outputs_are_refused_where_torch_would_pair_all_with_all():
    module = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 1)).double()
    with pytest.warns(UserWarning, match="target size"), pytest.raises(InputError, match=r"\(30, 30\)"):
        measure(module, pairs(torch.rand(30).double()), None, nn.MSELoss())
