"""What is compiled meets no function whose last bits depend on whether a compiler takes vectors for it."""

import ast
from pathlib import Path

import pytest

import plasticity_lab

ROOT = Path(plasticity_lab.__file__).parent
ROOMS = ("activations", "agents", "interventions", "networks", "randomness", "stacking")
BARE = {
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "celu", "cos", "cosh", "cross_entropy", "elu",
    "erf", "erfc", "erfinv", "exp", "exp2", "expit", "expm1", "float_power", "fmod", "gelu", "lgamma", "log",
    "log10", "log1p", "log2", "log_softmax", "logaddexp", "logsigmoid", "logsumexp", "mish", "nll_loss", "pow",
    "remainder", "selu", "sigmoid", "silu", "sin", "sinh", "softmax", "softplus", "softsign", "tan", "tanh",
    "tanhshrink",
}  # fmt: skip
"""Division, √ and comparisons are not among them: IEEE 754 rounds them in one way only, in vectors too."""
COMPOSED = {"elementary", "composed", "np", "numpy", "math"}
"""Whose functions are composed of such operations, or are computed on the host before anything is compiled."""
ALLOWED = {
    "stacking/elementary.py": "takes torch's own where nothing is compiled",
    "activations/fit_rational.py": "fits on the host",
}
ON_HOST = {
    ("stacking/adam.py", "beta1 ** t"): "tables of corrections, in float64 before the step",
    ("stacking/adam.py", "beta2 ** t"): "the same",
    ("stacking/decays.py", "decay_K ** t"): "the same",
    ("interventions/continual_backprop.py", "decay ** ages[mature]"): "numpy, where units are chosen",
}
"""Powers whose exponent is no number that stands in the source."""


def bare(source: str, name: str = "") -> list[str]:
    """The calls of such functions, in place too, and powers by a variable exponent, with their lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr.removeprefix("_foreach_").rstrip("_") in BARE:
            if not (isinstance(node.value, ast.Name) and node.value.id in COMPOSED):
                found.append(f"line {node.lineno}: {node.attr}")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            found += [f"line {node.lineno}: {each.name}" for each in node.names if each.name in BARE]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            if not any(isinstance(side, ast.Constant) for side in (node.left, node.right)):
                if (name, ast.unparse(node)) not in ON_HOST:
                    found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_of_the_room_calls_one(room):
    files = {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / room).rglob("*.py"))}
    assert files
    assert {name: calls for name, text in files.items() if name not in ALLOWED and (calls := bare(text, name))} == {}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import torch\ny = torch.tanh(x)", 1),
        ("y = x.exp() + x.sigmoid()", 2),
        ("from torch.nn.functional import gelu, pad\n", 1),
        ("x.exp_().sigmoid_()", 2),
        ("y = sigma**self.power - 1", 1),
        ("y = x**2 + 2.0**n", 0),
        ("y = elementary.log(x) + math.exp(1)", 0),
        ("y = x.sqrt() / x.abs()", 0),
    ],
)
def test_they_are_seen(source, count):
    assert len(bare(source)) == count
