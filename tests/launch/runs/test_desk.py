from collections.abc import Mapping
from typing import Any

import pytest

from launch.command import resolve
from launch.runs.desk import Desk, merged, run_of
from launch.runs.settings import Numbers
from plasticity_lab.component import Chosen, Component, check
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.fresh_each_task import FreshEachTask
from plasticity_lab.interventions.l2_init import L2Init
from plasticity_lab.interventions.prune_experts import PruneExperts
from plasticity_lab.interventions.shrink_and_perturb import ShrinkAndPerturb


class Ratio(Component):
    """A component whose settings are the same function where c/p is equal; `knob` was added later."""

    neutral = {"knob": 0}

    def __init__(self, c: float = 1.0, p: float = 1.0, knob: int = 0) -> None:
        self.c = check("activation.c", c, above=0)

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Only c/p counts."""
        kept = super().canonical(settings)
        return {"ratio": kept.pop("c") / kept.pop("p"), **kept}


class Revised(Ratio):
    """The same settings, other numbers."""

    science_version = 2


class Mended(Ratio):
    """Its numbers were others with one option of another group."""

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 beside that option."""
        return 2 if others["intervention"].settings["name"] == "another" else 1


TARGET = f"{__name__}.Ratio"
ASKED = {"activation": "ratio"}


def made(settings=None, target=TARGET, name="ratio", intervention="none", **apart):
    desk = Desk()
    parts = {"activation": desk.part("activation", name, target, settings or {})}
    parts["intervention"] = desk.part(
        "intervention", intervention, "plasticity_lab.interventions.none.NoIntervention", {}
    )
    fixed = {"seed": 0, "stream_seed": None, "init_seed": None, "precision": "fp32"}
    return run_of(parts, Numbers(**(fixed | apart)), ASKED)


def test_science_says_everything_and_the_id_only_what_counts():
    run = made({"c": 2, "p": 4})
    assert run.science["activation"] == {"name": "ratio", "c": 2.0, "p": 4.0, "knob": 0}
    assert run.science["intervention"] == {"name": "none"}
    assert run.targets["activation"] == TARGET
    assert len(run.id) == 12


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"settings": {"c": 1, "p": 2}}, {"settings": {"c": 2.0, "p": 4.0}}),
        ({"settings": {"knob": 0}}, {}),
        ({"stream_seed": None}, {"stream_seed": 0}),
    ],
)
def test_the_same_numbers_have_one_id(one, other):
    assert made(**one).id == made(**other).id


@pytest.mark.parametrize(
    "other",
    [
        {"settings": {"c": 2}},
        {"settings": {"knob": 1}},
        {"seed": 1},
        {"stream_seed": 1},
        {"init_seed": 1},
        {"name": "another"},
        {"target": f"{__name__}.Revised"},
        {"intervention": "another"},
    ],
)
def test_what_changes_numbers_changes_the_id(other):
    assert made(**other).id != made().id
    assert made(stream_seed=1).id != made(init_seed=1).id


def test_duplicates_merge_and_keep_the_names_they_were_asked_under():
    one, other = made({"c": 1, "p": 2}), made({"c": 2, "p": 4})
    (run,) = merged([one, other, made({"c": 1, "p": 2})])
    assert run.science["activation"]["c"] == 1.0
    again = {"activation": {"name": "ratio", "c": 2.0, "p": 4.0, "knob": 0}}
    assert run.asked_as == [ASKED, {**ASKED, "settings": again}]


def test_the_desk_tells_true_from_one():
    desk = Desk()
    desk.part("activation", "ratio", TARGET, {"c": 1})
    with pytest.raises(ConfigError, match=r"activation\.c.*true"):
        desk.part("activation", "ratio", TARGET, {"c": True})


def test_what_changed_beside_one_option_of_another_group_changes_the_id_there_alone():
    mended, plain = (
        [made(target=f"{__name__}.{name}", intervention=option).id for option in ("none", "another")]
        for name in ("Mended", "Ratio")
    )
    assert mended[0] == plain[0]
    assert mended[1] != plain[1]


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
