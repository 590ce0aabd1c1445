"""DQN in packs: packed = alone = resumed, with and without its memory; an unstable run leaves its mates alone."""

import numpy as np
import pytest
import torch

from plasticity_lab.assembly import agent_of
from plasticity_lab.records.bulk import Entries
from plasticity_lab.records.journal import Journal
from tests.agents.ppo.packs import there_are
from tests.agents.value.packs import AGENTS, BY_AGENT, CHOSEN, SMALL, advanced, begun, numbers, task_of
from tests.helpers.made_up_bodies import poisoned_choices
from tests.helpers.packs import needs_compiler
from tests.tenants.packs import differing, hold, hold_compiled, packs_of, trained

PIXELS = (
    *SMALL,
    "benchmark.stack=2",
    "network=small_nature",
    "network.hidden=8",
    "network.width=1",
    "benchmark.environment_steps=160",
)
FEW = ("agent.capacity=90", "agent.min_history=40")


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "words",
    [
        SMALL,
        (*SMALL, "agent.environments=3", "agent.n_step=3", "agent.batch=7", "intervention=l2_init"),
        (*SMALL, "activation=rrelu", "intervention=shrink_and_perturb"),
        (*SMALL, "intervention=redo", "intervention.every=5", "agent.update_period=1", "activation=crelu"),
        (*SMALL, "intervention=fresh_each_task", "agent.environments=2", "agent.update_period=3"),
        (*SMALL, "agent.gradient_steps=3", "agent.update_period=2", "intervention=redo", "intervention.every=5"),
        (*CHOSEN, "agent.n_step=2", "agent.epsilon_final=0.1"),
        (*PIXELS, *FEW),
        *(BY_AGENT[name] for name in AGENTS[1:]),
        (*BY_AGENT["rainbow"], "agent.environments=3", "agent.batch=7", "agent.noise_scope=batch", "activation=rrelu"),
        (*BY_AGENT["rainbow"], "agent.empty_each_task=true", "intervention=redo", "intervention.every=5"),
    ],
    ids=[
        "board",
        "l2_init",
        "randomised",
        "redo",
        "fresh_each_task",
        "replay ratio",
        "numbers",
        "convolutions",
        *AGENTS[1:],
        "rainbow in three environments",
        "rainbow that forgets",
    ],
)
def test_packed_alone_and_resumed_are_the_same(words):
    length = () if "network=small_nature" in words else ("benchmark.environment_steps=180",)  # the ring comes round
    hold(*words, *length, "seed=3,1,0", stops=[1, 2, 1])


@pytest.mark.sample(3)
def test_its_floats_differ_from_run_to_run():
    hold(*SMALL, "agent.gamma=0.9,0.99", "agent.epsilon_final=0.5,0.1", "agent.epsilon_start=0.9,1")


COMPILED = ("benchmark.tasks=1", "benchmark.environment_steps=160")


@pytest.mark.only(3)
@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [*BY_AGENT.values(), (*SMALL, "agent.environments=3"), (*PIXELS, *FEW)],
    ids=[*BY_AGENT, "in three environments", "convolutions"],
)
def test_compiled_a_run_is_the_same_alone_and_in_packs_of_many_widths(words):
    hold_compiled((2, 3, 5, 6, 8, 12), *words, *COMPILED, stops=[1])


@pytest.mark.sample(3)
def test_a_runs_numbers_do_not_depend_on_the_length_of_chunks(monkeypatch):
    (run,) = packs_of(*SMALL, "seed=1")
    whole = trained([run])[0]
    monkeypatch.setattr("plasticity_lab.agents.acting.cost.CHUNK_ROWS", 7)
    assert not differing(whole, trained([run])[0])


@pytest.mark.sample(3)
def test_nothing_is_learned_in_the_warm_up_and_its_rows_say_so():
    runs = packs_of(*SMALL, "seed=0,1", "agent.min_history=100", "agent.epoch_steps=50")
    learner, chunks = begun(runs)
    before, journal = numbers(learner), Journal(2, agent_of(runs[0]).measures)
    for chunk in chunks[:2]:
        rows = learner.advance(chunk)
        assert {len(values) for values in rows.updates.values()} == {0}
        journal.add_chunk(chunk, rows)
    assert all(torch.equal(value, before[name]) for name, value in numbers(learner).items())
    for chunk in chunks[2:]:
        journal.add_chunk(chunk, learner.advance(chunk))
    table = journal.table(0)
    epochs = table.filter(np.array(table["kind"].to_pylist()) == "epoch")
    assert epochs["step"].to_pylist() == [50, 100, 150, 200, 250, 300]
    assert [value is None for value in epochs["loss"].to_pylist()] == [True, True, False, False, False, False]
    assert epochs["epsilon"].to_pylist()[2:] == sorted(epochs["epsilon"].to_pylist()[2:], reverse=True)


@pytest.mark.sample(3)
def test_the_target_is_the_network_as_it_was_every_so_often():
    """Copied after the steps 140 and 210, not in between, and never the network as it is."""
    learner, chunks = begun(packs_of(*SMALL, "seed=0,1", "agent.epoch_steps=70"))
    online, target = [], []
    for chunk in chunks:
        learner.advance(chunk)
        online.append({name: value.clone() for name, value in learner.network.parameters.items()})
        target.append({name: value.clone() for name, value in learner.target.parameters.items()})
    assert [chunk.first + chunk.steps for chunk in chunks] == [70, 140, 210, 280, 300]
    for copied in range(4):
        assert all(torch.equal(target[copied][name], value) for name, value in online[copied].items())
    assert not any(torch.equal(target[4][name], value) for name, value in online[4].items())
    assert all(torch.equal(target[4][name], value) for name, value in target[3].items())


@pytest.mark.sample(3)
def test_a_lost_memory_begins_empty_and_is_filled_before_anything_is_learned():
    runs = packs_of(*SMALL, "seed=0,1")
    learner, chunks = begun(runs)
    advanced(learner, chunks[:2])
    again, _ = begun(runs)
    for array in again.memory.ring.arrays.values():
        array[...] = 1  # whatever they hold
    again.load(learner.state(), None)
    again.begin(task_of(runs), fresh=False)
    assert again.memory.ring.empty
    assert again.memory.ring.lost == 1
    assert {entries.added for entries in again.bulk().values()} == {0}
    before = numbers(again)
    (rows,) = advanced(again, chunks[2:3])
    assert (chunks[2].first, chunks[2].steps, again.memory.ring.held) == (180, 90, 90)
    assert len(rows.updates["loss"]) == 7  # after steps 244, 248, …, 268: after 240 it held 60, which are too few
    assert not all(torch.equal(value, before[name]) for name, value in numbers(again).items())


@pytest.mark.sample(3)
def test_a_run_that_lost_its_memory_is_the_same_packed_and_alone():
    def without(runs):
        learner, chunks = begun(runs)
        advanced(learner, chunks[:2])
        again, _ = begun(runs)
        again.load(learner.state(), None)
        again.begin(task_of(runs), fresh=False)
        advanced(again, chunks[2:])
        return numbers(again)

    runs = packs_of(*SMALL, "seed=0,1,2")
    pack, alone = without(runs), without(runs[1:2])
    assert all(torch.equal(value[1], alone[name][0]) for name, value in pack.items())


def test_its_memory_is_its_own_arrays_and_not_copied():
    learner, chunks = begun(packs_of(*SMALL, "seed=0,1"))
    first = learner.bulk()
    advanced(learner, chunks)
    bulk = learner.bulk()
    assert {entries.added for entries in first.values()} == {0}
    assert {(entries.added, entries.capacity) for entries in bulk.values()} == {(300, 160)}
    assert all(np.shares_memory(first[name].values, entries.values) for name, entries in bulk.items())
    again, _ = begun(packs_of(*SMALL, "seed=0,1"))
    filled = again.bulk()
    for name, entries in bulk.items():
        filled[name].values[...] = entries.values
    again.load(learner.state(), {name: Entries(entries.values, bulk[name].added) for name, entries in filled.items()})
    assert again.memory.ring.state() == learner.memory.ring.state()
    assert all(np.shares_memory(filled[name].values, array) for name, array in again.memory.ring.arrays.items())


def test_a_ring_is_not_larger_than_a_run_is_long():
    learner, _ = begun(packs_of(*SMALL, "seed=0", "agent.capacity=1000000"))
    assert learner.memory.ring.rows == 600


@pytest.mark.sample(3)
def test_an_unstable_run_leaves_its_mates_alone(monkeypatch):
    runs = packs_of(*CHOSEN, "seed=0,1,2")
    undisturbed = trained(runs)
    there_are(monkeypatch, poisoned_choices(1))
    disturbed = trained(runs)
    assert not differing(undisturbed[0], disturbed[0])
    assert not differing(undisturbed[2], disturbed[2])


@pytest.mark.sample(3)
def test_an_unstable_run_keeps_stepping_with_its_last_good_network(monkeypatch):
    there_are(monkeypatch, poisoned_choices(0))
    runs = packs_of(*CHOSEN, "seed=0,1", "agent.min_history=20", "agent.epoch_steps=30")
    learner, chunks = begun(runs)
    measures = agent_of(runs[0]).measures
    journal = Journal(2, measures)
    for chunk in chunks:
        good = numbers(learner)
        journal.add_chunk(chunk, learner.advance(chunk))
        if 30 <= chunk.first < 90:  # no copy of the target falls due
            for name, value in numbers(learner).items():
                assert torch.equal(value[0], good[name][0]), name
                assert name.startswith("target") or not torch.equal(value[1], good[name][1])
    table = journal.table(0)
    assert not journal.diverged.any()
    assert measures.flags(table, {}) == {"unstable": True}
    assert measures.flags(journal.table(1), {}) == {"unstable": False}
    assert "episode" in table.filter(table["step"].to_numpy() > 100)["kind"].to_pylist()


def test_a_loss_that_is_not_finite_leaves_network_and_target_as_they_were():
    learner, chunks = begun(packs_of(*SMALL, "seed=0,1", "agent.target_period=10"))
    advanced(learner, chunks[:1])
    learner.network.parameters["q.weight"][0] = 1e30
    good = numbers(learner)
    (rows,) = advanced(learner, chunks[1:2])
    assert rows.updates["unstable"][-1].tolist() == [1.0, 0.0]
    assert np.isnan(rows.updates["loss"][:, 0]).all()
    assert np.isfinite(rows.updates["loss"][:, 1]).all()
    for name, value in numbers(learner).items():
        assert torch.equal(value[0], good[name][0]), name
        assert not torch.equal(value[1], good[name][1]), name


@pytest.mark.sample(3)
def test_a_network_begun_anew_is_its_own_target_too():
    runs = packs_of(*SMALL, "seed=0", "intervention=fresh_each_task")
    learner, chunks = begun(runs)
    advanced(learner, chunks)
    learner.begin(task_of(runs, 1), fresh=True)
    online, target = learner.network.parameters, learner.target.parameters
    assert all(torch.equal(target[name], value) for name, value in online.items())
    assert learner.memory.ring.held == 160  # what it remembers stays


@pytest.mark.sample(3)
def test_evaluating_changes_nothing_and_is_the_same_whenever_it_is_asked():
    runs = packs_of(*SMALL, "seed=0,1", "agent.epsilon_eval=0.3")
    learner, chunks = begun(runs)
    advanced(learner, chunks[:2])
    before, ring = numbers(learner), learner.memory.ring.state()
    tests = [learner.evaluate(task_of(runs, task))["test_return"].tolist() for task in (0, 1, 0)]
    assert tests[0] == tests[2]
    assert all(torch.equal(value, before[name]) for name, value in numbers(learner).items())
    assert learner.memory.ring.state() == ring
    undisturbed, _ = begun(runs)
    advanced(undisturbed, chunks[:2])
    one, other = advanced(learner, chunks[2:3]), advanced(undisturbed, chunks[2:3])
    assert np.array_equal(one[0].updates["loss"], other[0].updates["loss"])
