"""Several packed networks of one agent: names, keys, optimizers, columns, and networks that follow others."""

from typing import ClassVar

import numpy as np
import pytest
import torch

from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.agents.update import LossOutput, update_of
from plasticity_lab.interventions.redo import ReDo
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.targets import measures_of
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.sgd import SGD
from tests.helpers.packs import CPU, restored, run, saved

REDO = "plasticity_lab.interventions.redo.ReDo", {"every": 2, "strength": 0.5}
OUTPUTS = {"actor": {"policy": 2}, "critic": {"q": 3}}
TAU = 0.25


class OfTwo(Agent):
    """An agent of two networks, as far as records ask it."""

    measures = CLASSIFIER
    networks: ClassVar = ("actor", "critic")


def parts(*seeds, **settings):
    """Runs with rates of their own."""
    settings = {"images": 64, "network": {"width": 7}} | settings
    return parts_of([run(seed, optimizer={"lr": 10.0 ** -(2 + seed % 2)}, **settings) for seed in seeds])


def network(own, name="", outputs=None, optimizers=None):
    shapes = {"body": Shapes((5,), outputs or OUTPUTS.get(name, {"q": 3}))}
    return PackedNetwork(own, Model(own.network, own.activations, shapes, name), CPU, optimizers)


def test_a_network_without_a_name_has_the_keys_and_the_state_that_it_had():
    alone = network(parts(3, 4))
    assert alone.name == ""
    for purpose in ("intervention", "activation", "noise"):
        assert torch.equal(alone.keys_of(purpose), run_keys([3, 4], purpose))
    assert alone.step_keys.keys() == {"activation", "intervention"}
    assert torch.equal(alone.keys, run_keys([3, 4], "intervention"))
    assert alone.state().keys() == {
        "parameters", "moments", "intervention", "updates", "all_updates", "body_updates",
    }  # fmt: skip
    assert set(alone.parameters) == {
        f"{layer}.{part}" for layer in ("hidden1", "hidden2", "q") for part in ("weight", "bias")
    }


def test_networks_of_two_names_share_no_parameter_no_number_and_no_key():
    own = parts(3, 4)
    actor, critic, again = (network(own, name, {"q": 3}) for name in ("actor", "critic", "critic"))
    assert not actor.parameters.keys() & critic.parameters.keys()
    assert not torch.equal(actor.parameters["actor.hidden1.weight"], critic.parameters["critic.hidden1.weight"])
    assert all(torch.equal(value, again.parameters[name]) for name, value in critic.parameters.items())
    for purpose in ("intervention", "activation"):
        keys = [each.keys_of(purpose).tolist() for each in (actor, critic, network(own))]
        assert keys[0] != keys[1] != keys[2] != keys[0]


def test_each_can_have_an_optimizer_of_its_own():
    own = parts(3, 4)
    actor, critic = network(own, "actor", optimizers=[SGD(lr=0.5, momentum=0.9), SGD(lr=0.25)]), network(own, "critic")
    assert isinstance(actor.optimizer, SGD)
    assert isinstance(critic.optimizer, Adam)
    assert actor.settings["optimizer"]["lr"].tolist() == [0.5, 0.25]
    assert actor.moments.keys() == {"velocity"}


def test_the_intervention_measures_itself_in_each_under_a_column_of_its_own():
    own = parts(3, 4, intervention=REDO)
    measured = {**network(own, "actor").of_intervention(), **network(own, "critic").of_intervention()}
    targets = {"agent": f"{__name__}.OfTwo", "intervention": REDO[0]}
    columns = measures_of(targets).columns[len(CLASSIFIER.columns) :]
    assert [column.of for column in columns] == list(measured) == ["actor_resets", "critic_resets"]
    assert [column.name for column in columns] == ["actor_resets", "critic_resets"]
    assert len({column.measure.title for column in columns}) == 2
    assert network(own).of_intervention().keys() == {column.of for column in ReDo.columns} == {"resets"}


def moved(online):
    """The network after something has been learned."""
    for value in online.parameters.values():
        value.add_(torch.arange(1.0, 1 + len(value)).view(-1, 1, 1))
    return {name: value.clone() for name, value in online.parameters.items()}


def test_a_target_stays_until_it_is_told_to_copy_and_copies_chosen_runs():
    online = network(parts(3, 4, 5))
    target = online.target()
    assert target.parameters.keys() == online.parameters.keys()
    before = {name: value.clone() for name, value in target.parameters.items()}
    tensors, after = dict(target.parameters), moved(online)
    for name, value in target.parameters.items():
        assert torch.equal(value, before[name])
    target.copy(np.array([False, True, False]))
    for name, value in target.parameters.items():
        assert torch.equal(value[1], after[name][1])
        assert torch.equal(value[[0, 2]], before[name][[0, 2]])
    target.copy()
    for name, value in target.parameters.items():
        assert torch.equal(value, after[name])
        assert value is tensors[name], "a compiled graph may hold it"


def test_a_target_follows_each_run_by_its_own_rate():
    online = network(parts(3, 4, 5))
    target = online.target()
    before = {name: value.clone() for name, value in target.parameters.items()}
    after = moved(online)
    target.follow(torch.tensor([0.0, 0.25, 1.0]))
    for name, value in target.parameters.items():
        assert torch.equal(value[0], before[name][0])
        torch.testing.assert_close(value[1], 0.75 * before[name][1] + 0.25 * after[name][1])
        assert torch.equal(value[2], after[name][2])


def test_a_targets_state_brings_it_back_and_is_left_untouched():
    online = network(parts(3, 4))
    target = online.target()
    kept = saved(target.state())
    before = {name: value.clone() for name, value in target.parameters.items()}
    moved(online)
    target.copy()
    state = restored(kept)
    target.load(state)
    for name, value in target.parameters.items():
        assert torch.equal(value, before[name])
    target.copy()
    for name, value in state["parameters"].items():
        assert torch.equal(value, before[name])


class Two:
    """An agent of two networks and a target that follows one of them, as small as can be."""

    def __init__(self, own):
        self.seeds = own.init_seeds
        self.networks = {name: network(own, name) for name in ("actor", "critic")}
        self.target = self.networks["critic"].target()
        self.updates = {
            name: update_of(each.model, self._loss(each), each.optimizer, each.intervention)
            for name, each in self.networks.items()
        }

    @staticmethod
    def _loss(each):
        def loss(parameters, settings, batch):
            outputs, hidden = each.model.forward(parameters, settings["activation"], batch["x"], None)
            (answer,) = outputs.values()
            off = answer - batch["wanted"][..., : answer.shape[2]]
            return LossOutput(off * off, {}, hidden)

        return loss

    def step(self, count):
        draws = [host_stream(seed, "batch", count) for seed in self.seeds]
        x = torch.from_numpy(np.stack([draw.normal(size=(8, 5)) for draw in draws]).astype(np.float32))
        critic = self.networks["critic"]
        following, _ = critic.model.forward(self.target.parameters, critic.settings["activation"], x, None)
        batch = {"x": x, "wanted": 0.9 * following["q"] + x[..., :3]}
        for name, each in self.networks.items():
            corrections = {key: rows[0] for key, rows in each.corrections(1).items()}
            each.kept, _ = self.updates[name](
                each.train_state, each.update_inputs(torch.tensor(count), corrections), batch
            )
            each.took(1)
        self.target.follow(torch.full((len(self.seeds),), TAU))

    def state(self):
        return {"target": self.target.state()} | {name: each.state() for name, each in self.networks.items()}

    def load(self, state):
        self.target.load(state["target"])
        for name, each in self.networks.items():
            each.load(state[name])

    def numbers(self, run):
        values = {f"target {name}": value for name, value in self.target.parameters.items()}
        for each in self.networks.values():
            values |= each.parameters
            values |= {f"{kind} {name}": value for kind, own in each.moments.items() for name, value in own.items()}
            values |= {f"kept {name}": value for name, value in each.kept.items()}
        return {name: value[run].numpy().tobytes() for name, value in values.items()}


def learned(*seeds, stop=None):
    agent = Two(parts(*seeds, intervention=REDO))
    for count in range(7):
        if count == stop:
            kept = saved(agent.state())
            agent = Two(parts(*seeds, intervention=REDO))
            agent.load(restored(kept))
        agent.step(count)
    return agent


@pytest.mark.parametrize("mates", [(4,), (4, 5), (4, 5, 6, 7), tuple(range(20, 31))], ids=len)
def test_two_networks_and_a_target_are_the_same_alone_packed_and_resumed(mates):
    alone = learned(3)
    assert int(alone.networks["actor"].kept["resets"]) > 0, "a test of nothing"
    assert alone.numbers(0) == learned(*mates, 3).numbers(-1)
    assert alone.numbers(0) == learned(3, *mates, stop=3).numbers(0)


def test_moments_that_are_reset_between_tasks_stay_where_they_are():
    own = parts_of([run(0, optimizer={"reset": "task"}, images=64, network={"width": 7})])
    pack = network(own)
    first = pack.moments["first"]["q.weight"]
    first.fill_(3.0)
    pack.took(5)
    pack.end_task(0)
    assert pack.moments["first"]["q.weight"] is first
    assert not first.any()
    assert pack.state()["updates"] == 0
    assert pack.updates == 5
