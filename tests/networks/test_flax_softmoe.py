"""The head softmoe against tokens and gradients that flax gave once (tests/networks/reference/make_softmoe.py)."""

from pathlib import Path

import numpy as np
import pytest
import torch

from plasticity_lab.networks.heads.head import Encoded
from plasticity_lab.networks.heads.softmoe import SoftMoE
from plasticity_lab.networks.network import Shapes
from tests.networks.reference import softmoe_numbers as numbers


@pytest.mark.parametrize("case", numbers.CASES)
def test_what_becomes_of_tokens_and_gradients_are_those_of_flax(case):
    experts, slots, normalised = numbers.CASES[case]
    flat = numbers.TOKENS * numbers.WIDTH
    head = SoftMoE(experts, slots=slots, normalised=normalised)
    encoded = Encoded(
        maps=(numbers.WIDTH, 3, 3),
        shapes=Shapes((1, 3, 3), {"made": flat}),
        hidden={"hidden": numbers.HIDDEN},
        expansion=1,
        normed=lambda layer: layer,
        tokens=(numbers.TOKENS, numbers.WIDTH),
    )
    layers = head.design(encoded).layers
    ours = {name: torch.from_numpy(value) for name, value in numbers.parameters(case).items()}
    parameters = {}
    for name, value in ours.items():
        wide = -(-value.shape[-1] // 4) * 4 if name == "router.weight" else value.shape[-1]
        stored = torch.nn.functional.pad(value, (0, wide - value.shape[-1]))
        parameters[name] = (stored.unsqueeze(1) if name.endswith("bias") else stored).unsqueeze(0).requires_grad_()
    tokens = torch.from_numpy(numbers.tokens(case)).unsqueeze(0).requires_grad_()
    made, _ = head.forward(layers[:-1], parameters, tokens, lambda site, h: torch.relu(h))
    (made[0] * torch.from_numpy(numbers.slope(case)).flatten(1)).sum().backward()
    with np.load(Path(__file__).parent / "reference" / "softmoe.npz") as flax:
        kept = {name.removeprefix(f"{case} "): flax[name] for name in flax.files if name.startswith(f"{case} ")}
    assert kept.keys() == {"made", "tokens", *parameters}
    found = {"made": made[0].unflatten(1, (numbers.TOKENS, -1)), "tokens": tokens.grad[0]}
    found |= {name: value.grad[0] for name, value in parameters.items()}
    for name, expected in kept.items():
        own = found[name].detach().numpy()
        own = own[..., : expected.shape[-1]].reshape(expected.shape)
        np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max(), err_msg=name)
