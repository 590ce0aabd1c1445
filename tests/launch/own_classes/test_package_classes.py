"""Choices of the package, checked as a class from outside is; three answers; the class that a fault belongs to."""

from collections.abc import Iterator

import pytest

from launch.command import resolve
from launch.own_classes.check import Answer, Checked, checked
from launch.own_classes.named import own_classes
from launch.runs.groups import COMPONENTS
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.errors import ConfigError, DataError
from plasticity_lab.networks.convolutional import Convolutional
from plasticity_lab.records.rows import Rows
from tests.helpers.faulty_classes.activations import Plain
from tests.helpers.faulty_classes.interventions import Pulling
from tests.helpers.faulty_classes.planting import planted
from tests.helpers.packs import choices
from tests.helpers.sweeps import SMOKE

GAME = ("agent=dqn", "benchmark=catch", "network=small_impala")
CONTEXTS = (
    (),
    ("benchmark=permuted_mnist",),
    GAME,
    (*GAME, "head=softmoe"),
    (*GAME, "agent.double=true"),
    ("agent=ppo", "benchmark=classic_cycle"),
    ("benchmark=split_digits",),
    ("network=cnn", "network.padding=same"),
    ("agent=sac", "benchmark=mujoco"),
    ("agent=sac", "benchmark=cale"),
)
"""Words that are tried in turn, until a member of a group can be trained beside them."""
LONG = {("network", "pixel_actor_critic"), ("agent", "sac")}
"""Members that are trained on images of Atari or on bodies of MuJoCo; options of the group `benchmark` may be too."""
MEMBERS = [(group, name) for group in COMPONENTS for name in choices(group)]


def answers(*words: str, groups: set[str]) -> list[Checked]:
    """The outcomes for the named groups."""
    resolved = resolve([*words, *SMOKE])
    return [checked(own, resolved.settings) for own in own_classes(resolved.runs, groups)]


def in_contexts(group: str, name: str) -> Iterator[Checked]:
    """The outcomes beside the contexts that a member goes with."""
    for context in CONTEXTS:
        words = [word for word in context if not word.startswith(f"{group}=")]
        if group == "network":
            words = [word for word in words if not word.startswith("network")]
        try:
            yield from answers(f"{group}={name}", *words, groups={group})
        except (ConfigError, DataError):
            continue


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    ("group", "name"),
    [
        pytest.param(*each, marks=[pytest.mark.slow] if each in LONG or each[0] == "benchmark" else [])
        for each in MEMBERS
    ],
)
def test_every_member_of_a_group_passes(group, name):
    results = []
    for result in in_contexts(group, name):
        results.append(result)
        if result.answer is not Answer.NOT_TRIED:
            break
    if not results or results[-1].answer is Answer.NOT_TRIED:
        pytest.skip("; ".join(str(each.untried) for each in results) or "no context has its data and packages")
    assert results[-1].answer is Answer.PASSED, results[-1].sentence
    assert len(results[-1].lines) >= 8, "small packs were trained"


def mixing(learner, chunk):
    rows = advance(learner, chunk)
    return Rows({name: values - values.mean() for name, values in rows.updates.items()})


advance = SupervisedLearner.advance


def test_the_fault_of_an_agent_is_not_its_interventions(tmp_path, monkeypatch):
    monkeypatch.setattr(SupervisedLearner, "advance", mixing)
    (result,) = answers(planted(tmp_path, Pulling), "intervention=pulling", groups=set())
    assert result.answer is Answer.FAILED
    assert result.sentence.startswith("agent=supervised: Supervised (")
    assert "Not intervention=pulling" in result.sentence


def test_the_fault_of_a_network_is_not_its_activations(tmp_path, monkeypatch):
    plain = Convolutional.encoded

    def centred(self, layers, parameters, x, activate):
        maps = plain(self, layers, parameters, x, activate)
        return maps - maps.mean()

    monkeypatch.setattr(Convolutional, "encoded", centred)
    words = ("activation=plain", "network=cnn", "network.padding=same")
    (result,) = answers(planted(tmp_path, Plain), *words, groups=set())
    assert result.sentence.startswith("network=cnn: CNN (")
