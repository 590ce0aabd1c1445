"""The two files that analysis reads: what every activation is, and the curves of the paper's figures."""

import json
from typing import Any

from plasticity_lab.component import as_typed
from plasticity_lab.taxonomy.described import definitions, drawn, facts
from plasticity_lab.taxonomy.options import Named, named, names, published

RANGE, POINTS = (-6.0, 6.0), 121
"""Of the curves."""
DEFAULT = "default"
"""The use that is no table's: the settings of conf/activation/."""
NEXT_TO = 1e-6
"""A learned slope never reaches its bounds; this near to them it is drawn."""
FIGURES: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "figure5": [
        ("Smooth-Leaky", "smooth_leaky", {"c": 5.0, "p": 3.0, "alpha": 0.1}),
        ("Rand. Smooth-Leaky", "rand_smooth_leaky", {}),
    ],
    "figureG1": [
        ("as it starts, α = 0.65", "bo_prelu", {"alpha_min": 0.6, "alpha_max": 0.8, "alpha_init": 0.65}),
        ("α at 0.6, its lower bound", "bo_prelu", {"alpha_min": 0.6, "alpha_max": 0.8, "alpha_init": 0.6 + NEXT_TO}),
        ("α at 0.8, its upper bound", "bo_prelu", {"alpha_min": 0.6, "alpha_max": 0.8, "alpha_init": 0.8 - NEXT_TO}),
    ],
    "figureG2": [("R-SeLU", "rselu", {"lower": 0.9232, "upper": 2.4232})],
}
"""The paper's figure → label, activation and settings of each line, as its caption has them; of Randomized Smooth-Leaky
the caption names no bounds, and conf/activation/ does.
"""


def activations() -> dict[str, Any]:
    """The definitions, and `facts` of every activation at its default settings and at each that the paper found best.

    Equal settings stand once, with all their uses: "default", or a table and its benchmark.
    """
    used: dict[str, tuple[Named, list[str]]] = {}
    for use, one in [*((DEFAULT, named(name, {})) for name in names()), *published()]:
        used.setdefault(f"{one.name} {as_typed(dict(one.settings))}", (one, []))[1].append(use)
    shapes = [{"uses": uses, **facts(one)} for one, uses in used.values()]
    return {"definitions": definitions(), "shapes": sorted(shapes, key=lambda shape: shape["activation"])}


def curves() -> dict[str, Any]:
    """The curves of every activation at its default settings, and of the paper's figures; each with `label`."""
    figures = {
        figure: [{"label": label, **drawn(named(name, settings), *RANGE, POINTS)} for label, name, settings in lines]
        for figure, lines in FIGURES.items()
    }
    return {"defaults": [drawn(named(name, {}), *RANGE, POINTS) for name in names()], "figures": figures}


def as_text(data: dict[str, Any]) -> str:
    """Data as JSON that a person can read and a diff can show: a line for each entry of a list."""
    parts = []
    for key, content in data.items():
        if isinstance(content, list):
            lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in content)
            parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            lines = ",\n".join(
                f"{json.dumps(name)}: {json.dumps(of, ensure_ascii=False)}" for name, of in content.items()
            )
            parts.append(f"{json.dumps(key)}: {{\n{lines}\n}}")
    return "{" + ",\n".join(parts) + "}\n"
