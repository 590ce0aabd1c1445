"""Self-distillation by hand, and a pack of different strengths beside each run alone."""

import pytest
import torch

from plasticity_lab.agents.supervised.step import divergence
from plasticity_lab.interventions.now import Now
from plasticity_lab.interventions.self_distillation import SLOW, SelfDistillation
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.packs import choice, differing, images, run, trained

IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 2, "epochs": 2, "network": {"width": 13}}


class Bias:
    """A network with one layer of two biases, which are its logits."""

    switches = frozenset[str]()


def forward(parameters, x):
    return {"logits": parameters["bias"].unsqueeze(1).expand(-1, 2, -1)}, {}


def test_two_classes_by_hand():
    """Logits (ln 3, 0) of the network and (0, 0) of the average: shares ¾, ¼ and ½, ½.

    D = −½ ln ¾ − ½ ln ¼, with the derivative p − p⁰ = ±¼ by the logits.
    """
    pack = [SelfDistillation(2.0, 0.9), SelfDistillation(0.0, 0.5)]
    fast = {"bias": torch.log(torch.tensor([[3.0, 1.0], [3.0, 1.0]]))}
    state = {f"{SLOW}bias": torch.zeros(2, 2)}
    now = Now(Bias(), fast, on_run_axis(pack), state, x=torch.zeros(2, 2, 1), forward=forward)
    now = now._replace(divergence=lambda outputs, reference: divergence({}, outputs, reference))

    def penalty(parameters):
        return pack[0].penalty(now._replace(parameters=parameters, outputs=forward(parameters, None)[0]))

    expected = -0.5 * (torch.log(torch.tensor(0.75)) + torch.log(torch.tensor(0.25)))
    assert penalty(fast).tolist() == pytest.approx([2 * float(expected), 0], rel=1e-5)
    slope = torch.func.grad(lambda own: penalty(own).sum())(fast)["bias"]
    torch.testing.assert_close(slope, torch.tensor([[0.5, -0.5], [0.0, 0.0]]))
    after = pack[0].after_step(now)
    torch.testing.assert_close(after[f"{SLOW}bias"], torch.tensor([[0.1], [0.5]]) * fast["bias"])


def test_strengths_differ_in_a_pack_and_zero_is_the_plain_run():
    target, usual = choice("intervention", "self_distillation")
    runs = [run(seed, intervention=(target, usual | {"strength": s}), **STREAM) for seed, s in ((1, 1.0), (2, 0.0))]
    packed = trained(runs, IMAGES).measured
    for k, one in enumerate(runs):
        assert not differing(trained([one], IMAGES).measured.of(0), packed.of(k))
    assert not differing(trained([run(2, **STREAM)], IMAGES).measured.of(0), packed.of(1))
    assert differing(trained([run(1, **STREAM)], IMAGES).measured.of(0), packed.of(0))
