"""Every diagnostic of conf/: with all of them or none a run is the same, and each column is the run's own."""

import numpy as np
import pytest

from plasticity_lab.component import load
from tests.agents.ppo.packs import BOTH, there_are
from tests.agents.value.packs import SMALL
from tests.agents.value.test_heads import words_of
from tests.helpers.looked_at import column, differing, looked_at
from tests.helpers.packs import choice, choices
from tests.helpers.sweeps import runs_of

DIGITS = ("benchmark=permuted_digits", "benchmark.images=101", "benchmark.tasks=2", "benchmark.epochs=2")
SPLIT = ("benchmark=split_digits", "schedule=smoke", "benchmark.tasks=2")
PACKS = {
    "supervised": (*DIGITS, "activation=bo_prelu"),
    "normalised": (*DIGITS, "activation=rrelu", "network.norm=layer"),
    "cnn": (*DIGITS, "network=cnn", "network.padding=same", "activation=leaky_relu"),
    "replay": (*SPLIT, "agent=experience_replay", "activation=swiglu", "network.norm=batch"),
    "ppo": (*BOTH, "activation=elu"),
    "dqn": (*SMALL, "activation=prelu"),
    "experts": (*words_of("softmoe", "per_conv"), "benchmark.tasks=2", "activation=prelu"),
}


def everything(**settings):
    """Each diagnostic as conf/ has it, with these settings where it has them."""
    found = {}
    for name in choices("diagnostics"):
        target, usual = choice("diagnostics", name)
        if name != "none":
            found[name] = load(target)(**usual | {key: value for key, value in settings.items() if key in usual})
    return found


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


@pytest.mark.walk(1)
@pytest.mark.parametrize("words", PACKS.values(), ids=PACKS)
def test_with_all_or_none_alone_packed_and_resumed_all_numbers_are_the_same(words):
    runs = list(runs_of(*words, "seed=0,1,2"))
    plain, seen = looked_at(runs, {}), looked_at(runs, everything())
    for k in range(len(runs)):
        assert not differing(plain[k], seen[k])
    alone = looked_at(runs[1:2], everything())[0]
    assert alone.keys() == seen[1].keys()
    assert not differing(alone, seen[1])
    for k, resumed in enumerate(looked_at(runs, everything(), stops=[1, 2])):
        assert not differing(resumed, seen[k])
    new = seen[0].keys() - plain[0].keys()
    assert new >= {
        "dead_units",
        "dormant_units",
        "duplicate_units",
        "saturated",
        "effective_rank",
        "preactivation_mean",
    }
    for name in new:
        values = [column(run, name, kind) for run in seen for kind in ("epoch", "task")]
        assert any(np.isfinite(each).any() for each in values), f"{name} is never measured"


@pytest.mark.walk(1)
@pytest.mark.parametrize("name", [name for name in choices("diagnostics") if name != "none"])
def test_of_tasks_alone_it_has_columns_of_tasks_alone_and_the_values_of_the_last_epoch(name):
    runs = list(runs_of(*PACKS["experts" if name == "dormant_experts" else "supervised"], "seed=0,1"))
    usual, (seen, _) = (
        looked_at(runs, {name: everything(every=1)[name]}),
        looked_at(runs, {name: everything(every="task")[name]}),
    )
    new = usual[0].keys() - looked_at(runs, {})[0].keys()
    assert new
    for each in new:
        assert np.isnan(column(seen, each, "epoch")).all()
        assert not np.isnan(column(seen, each, "task")).any()
