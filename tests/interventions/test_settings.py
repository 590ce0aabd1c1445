"""Settings out of range, and settings that change nothing, of all interventions."""

import pytest

from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from tests.helpers.packs import choice, differing, images, run, trained

REFUSED = [
    *(("ccbp", bad) for bad in ({"strength": 1.5}, {"decay": 1.0}, {"sharpness": -1.0}, {"every": 0})),
    ("continual_backprop", {"strength": 1.5}),
    ("continual_backprop", {"decay": 1.0}),
    ("continual_backprop", {"every": 0}),
    *(("ewc", bad) for bad in ({"strength": -1.0}, {"decay": 1.5}, {"examples": 0}, {"batch": 0})),
    *(("feature_norm", bad) for bad in ({"strength": -1.0}, {"sites": "first"}, {"reduction": "max"})),
    *(
        ("fire", bad)
        for bad in ({"strength": 1.5}, {"iterations": 0}, {"dense": "none"}, {"target": "own"}, {"every": 0})
    ),
    *(("hare_tortoise", bad) for bad in ({"strength": 1.5}, {"every": 0}, {"first": 0}, {"evaluated": "both"})),
    ("l2", {"strength": -1}),
    *(("l2_init", bad) for bad in ({"strength": -1}, {"power": 3}, {"reduction": "max"})),
    *(("logit_norm", bad) for bad in ({"strength": -1.0}, {"reduction": "max"})),
    *(("nap", bad) for bad in ({"strength": 1.5}, {"affine": "none"}, {"pull": 1.5}, {"biases": "none"}, {"every": 0})),
    *(("parseval", bad) for bad in ({"strength": -1.0}, {"scale": 0.0}, {"layers": "some"}, {"rows": "all"})),
    ("parseval", {"groups": 0}),
    ("prune_experts", {"count": 0}),
    ("prune_experts", {"first": 0}),
    ("prune_experts", {"apart": -1}),
    ("redo", {"average": 0}),
    *(("reset_experts", bad) for bad in ({"shrink": 1.5}, {"perturb": -1.0}, {"every": 0}, {"chosen": "some"})),
    *(("reset_experts", bad) for bad in ({"count": 0}, {"target": "both"}, {"count": 2, "chosen": "all"})),
    *(("reset_layers", bad) for bad in ({"strength": 1.5}, {"layers": "some"}, {"every": 0}, {"values": "new"})),
    *(("reset_layers", bad) for bad in ({"part": "both"}, {"target": "own"}, {"most": 0})),
    ("selective_reinit", {"utility": "random"}),
    ("selective_reinit", {"strength": 1.5, "pruning": "proportional"}),
    *(("self_distillation", bad) for bad in ({"strength": -1.0}, {"average": 1.5})),
    *(("shrink_and_perturb", bad) for bad in ({"strength": 1.5}, {"noise": -0.1}, {"every": 0})),
    ("snr", {"strength": 1.0}),
    ("snr", {"outgoing": "random"}),
    ("spectral", {"strength": -1}),
    ("spectral", {"power": 0}),
    *(("weight_clipping", bad) for bad in ({"strength": 0.0}, {"bound": "xavier"})),
]


@pytest.mark.parametrize(("name", "settings"), REFUSED)
def test_a_setting_out_of_range_is_named_with_its_value(name, settings):
    target, _ = choice("intervention", name)
    setting, value = next(iter(settings.items()))
    with pytest.raises(ConfigError, match=rf"intervention\.{setting}\b.*{value}"):
        build("intervention", name, target, settings)


@pytest.mark.parametrize("name", ["l2", "l2_init", "spectral"])
def test_strength_zero_is_no_intervention_bit_for_bit(name):
    target, _ = choice("intervention", name)
    data, stream = images(8, 61, 20), {"images": 61, "tasks": 2, "epochs": 2}
    penalised = trained([run(1, intervention=(target, {"strength": 0.0}), **stream)], data)
    assert not differing(penalised.of(0), trained([run(1, **stream)], data).of(0))
