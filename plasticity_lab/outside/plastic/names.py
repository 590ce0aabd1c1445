"""The interventions that need no more than a module and an optimizer, by name, and the parts that each reads."""

from collections.abc import Mapping
from typing import Any

from plasticity_lab.component import build, load
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.intervention import Intervention

CLASSES = {
    "c_chain": "c_chain.CChain",
    "c_chain_discrete": "c_chain.CChain",
    "c_chain_dqn": "c_chain.CChain",
    "ccbp": "ccbp.ContinuousContinualBackprop",
    "continual_backprop": "continual_backprop.ContinualBackprop",
    "dash": "dash.DASH",
    "ewc": "ewc.EWC",
    "feature_norm": "feature_norm.FeatureNorm",
    "fire": "fire.FIRE",
    "fresh_each_task": "fresh_each_task.FreshEachTask",
    "hare_tortoise": "hare_tortoise.HareTortoise",
    "infer": "infer.InFeR",
    "l2": "l2.L2",
    "l2_init": "l2_init.L2Init",
    "logit_norm": "logit_norm.LogitNorm",
    "nap": "nap.NormalizeAndProject",
    "none": "none.NoIntervention",
    "parseval": "parseval.Parseval",
    "redo": "redo.ReDo",
    "reset_layers": "reset_layers.ResetLayers",
    "selective_reinit": "selective_reinit.SelectiveReinit",
    "self_distillation": "self_distillation.SelfDistillation",
    "shrink_and_perturb": "shrink_and_perturb.ShrinkAndPerturb",
    "snr": "snr.SelfNormalizedResets",
    "spectral": "spectral.Spectral",
    "weight_clipping": "weight_clipping.WeightClipping",
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "c_chain_discrete": {
        "strength": 10000.0, "initial": 1.0, "least": 1.0, "first": 11, "window": 50, "of_round": "mean",
        "per_task": "means",
    },
    "c_chain_dqn": {
        "strength": 0.01, "initial": 50.0, "first": 10000, "window": 50000, "skipped": 1, "per_task": "none",
    },
}  # fmt: skip
"""The settings of some names that differ from their class's defaults, as in conf/intervention."""
REFUSED = {
    "plasticity_injection": "it changes the forward pass of the network, which a module defines itself",
    **dict.fromkeys(
        ("reset_experts", "perturb_experts", "prune_experts"), "it works on the experts of the laboratory's heads"
    ),
}
RESET_UNITS = {"redo", "continual_backprop", "snr", "ccbp"}
OF_FEATURES = {"feature_norm", "infer"}
"""Some that read the values before the output layers."""
OF_LAYERS = {
    "l2", "spectral", "parseval", "shrink_and_perturb", "fire", "weight_clipping", "reset_layers", "nap",
    "selective_reinit", "dash", "fresh_each_task",
}  # fmt: skip
"""Some that treat each layer by its structure."""
OF_MATRICES = {"spectral", "parseval", "fire", "weight_clipping", "nap", "dash"}
"""Some of the latter: to them an embedding is no matrix from inputs to outputs."""
OF_WHOLE_KERNELS = {"fire", "dash"}
"""Some that treat a kernel pixel by pixel, or input channel by input channel."""
NOT_OF_GROUPS = {"weight_clipping", "selective_reinit"}
"""Some that would count the zeros between the groups of a convolution as weights."""
PACKAGE = "plasticity_lab.interventions"


def reads_birth(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether it needs the values that the module had at the beginning."""
    return name in ("reset_layers", "fresh_each_task") or (name == "fire" and settings.get("dense") == "initial")


def made(name: str, settings: Mapping[str, Any]) -> Intervention:
    """The intervention of that name with these settings.  Raises ConfigError for others."""
    if name in REFUSED:
        raise ConfigError(f"{name} needs the laboratory's own networks: {REFUSED[name]}; {_known()}.")
    if name not in CLASSES:
        raise ConfigError(f"There is no intervention '{name}'; {_known()}.")
    found = build("intervention", name, f"{PACKAGE}.{CLASSES[name]}", {**PRESETS.get(name, {}), **settings})
    assert isinstance(found, Intervention)
    if name == "reset_layers" and settings.get("layers") == "head":
        raise ConfigError(
            "intervention.layers is 'head', and a module has no known encoder; take last, or all and leave=['encoder']."
        )
    return found


def together(settings: Mapping[str, Mapping[str, Any]]) -> Intervention:
    """One or several interventions, name → settings.  Raises ConfigError."""
    members = {name: made(name, own) for name, own in settings.items()}
    if not members:
        raise ConfigError(f"No intervention is named; {_known()}.")
    return next(iter(members.values())) if len(members) == 1 else Intervention.composed(members)


def classes() -> dict[str, type[Any]]:
    """Name → class, for tests and lists."""
    return {name: load(f"{PACKAGE}.{place}") for name, place in CLASSES.items()}


def _known() -> str:
    return f"choose one of {', '.join(CLASSES)}"
