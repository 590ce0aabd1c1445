import pytest
import torch

from plasticity_lab.component import build
from plasticity_lab.interventions.l2 import L2
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice


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
