import pytest
import torch

from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.l2 import L2
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained

L2_CLASS, _ = choice("intervention", "l2")
IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 2, "epochs": 2}


@pytest.mark.parametrize(("half", "factor"), [(False, 2.0), (True, 1.0)])
def test_weights_and_biases_are_pulled_to_zero_by_the_closed_form_and_nothing_else_is(half, factor):
    """λ Σ θ² has the gradient 2 λ θ, each run with its own λ; half of both if `half`."""
    strengths = [0.5, 0.0, 0.25]
    pack = [L2(strength, half=half) for strength in strengths]
    activation = build("activation", "prelu", *choice("activation", "prelu"))
    model = classifier(MLP(width=7, norm="layer"), [activation] * 3, (1, 8, 8), 10)
    now = Now(model, model.start([0, 1, 2], CPU), on_run_axis(pack), {})
    penalty = pack[0].penalty(now)
    gradients = torch.func.grad(lambda values: pack[0].penalty(now._replace(parameters=values)).sum())(now.parameters)
    left_alone = {"activation.slope", "hidden1.scale", "hidden1.shift", "hidden2.scale", "hidden2.shift"}
    pulled = {name: value for name, value in now.parameters.items() if name not in left_alone}
    assert len(pulled) == 6
    assert not any(gradients[name].any() for name in left_alone)
    for k, strength in enumerate(strengths):
        squares = sum(float(value[k].double().square().sum()) for value in pulled.values())
        assert float(penalty[k]) == pytest.approx(strength * squares * factor / 2, rel=1e-5)
        for name, value in pulled.items():
            torch.testing.assert_close(gradients[name][k], factor * strength * value[k], rtol=1e-5, atol=1e-6)


def test_strength_zero_is_no_intervention_bit_for_bit():
    pulled = trained([run(1, intervention=(L2_CLASS, {"strength": 0.0}), **STREAM)], IMAGES)
    assert not differing(pulled.of(0), trained([run(1, **STREAM)], IMAGES).of(0))


def test_a_negative_strength_is_refused():
    with pytest.raises(ConfigError, match=r"intervention\.strength.*-1\.0.* 0"):
        build("intervention", "l2", L2_CLASS, {"strength": -1})
