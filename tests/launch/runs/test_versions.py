"""Classes whose numbers changed beside some other components: those runs have new ids, and no other run has."""

import pytest

from launch.command import resolve
from plasticity_lab.component import Component
from plasticity_lab.interventions.fresh_each_task import FreshEachTask
from plasticity_lab.interventions.l2_init import L2Init
from plasticity_lab.interventions.prune_experts import PruneExperts
from plasticity_lab.interventions.shrink_and_perturb import ShrinkAndPerturb

GAMES = ("benchmark=games", "head.experts=3", "agent=dqn,rainbow")
PLAIN = ("benchmark=games", "agent=dqn,rainbow")
HEADS = ("head=softmoe,expert_choice,token_choice",)


def of(run) -> tuple:
    settings = run.science["intervention"]
    return run.name("agent"), run.name("head"), settings.get("count")


@pytest.mark.parametrize(
    ("cls", "words", "new"),
    [
        (ShrinkAndPerturb, [*PLAIN, "intervention=shrink_and_perturb"], {("rainbow", "flatten", None)}),
        (
            PruneExperts,
            [*GAMES, *HEADS, "intervention=prune_experts", "intervention.count=1,2"],
            {("dqn", "expert_choice", 2), ("rainbow", "expert_choice", 2)},
        ),
        (L2Init, [*PLAIN, "intervention=l2_init"], set()),
        (FreshEachTask, [*PLAIN, "intervention=fresh_each_task"], set()),
        (
            L2Init,
            [*GAMES, "head=softmoe", "intervention=[l2_init,prune_experts]"],
            {("dqn", "softmoe", None), ("rainbow", "softmoe", None)},
        ),
        (
            FreshEachTask,
            [*GAMES, "head=softmoe", "intervention=[prune_experts,fresh_each_task]"],
            {("dqn", "softmoe", None), ("rainbow", "softmoe", None)},
        ),
    ],
)
def test_runs_with_other_numbers_have_other_ids_than_before(cls, words, new, monkeypatch):
    now = {of(run): run.id for run in resolve(words).runs}
    monkeypatch.setattr(cls, "version_beside", classmethod(Component.version_beside.__func__))
    before = {of(run): run.id for run in resolve(words).runs}
    assert {key for key, run_id in now.items() if before[key] != run_id} == new
