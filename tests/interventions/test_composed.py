"""Several interventions at once, against each of them alone."""

import numpy as np
import pytest
import torch

from plasticity_lab.agents import graphs
from plasticity_lab.interventions.intervention import Composed, Intervention
from plasticity_lab.interventions.l2_init import L2Init
from plasticity_lab.interventions.now import Now
from plasticity_lab.interventions.redo import ReDo
from plasticity_lab.interventions.shrink_and_perturb import ShrinkAndPerturb
from plasticity_lab.interventions.weight_clipping import WeightClipping
from plasticity_lab.records.targets import measures_of
from tests.helpers.packs import needs_compiler
from tests.tenants.packs import differing, packs_of, trained

pytestmark = pytest.mark.sample(3)

DIGITS = ("benchmark=permuted_digits", "benchmark.tasks=2", "network.width=20")
BOTH = (*DIGITS, "intervention=[l2_init,redo]", "intervention.redo.every=3", "intervention.redo.strength=0.6")
NEVER = "intervention.redo.every=1000000"


class Told(Intervention):
    """Does one thing to every parameter in each verb, and counts in its state when it was asked."""

    def __init__(self, does, every=None):
        self.does, self.every, self.asked = does, every, []

    def start(self, now):
        return {"count": torch.zeros(2)}

    def after_step(self, now):
        for value in now.parameters.values():
            value.copy_(self.does(value))
        return {"count": now.state["count"] + 1}

    def every_n_updates(self, now):
        self.asked.append(now.updates)
        return now.state


def now(**more):
    return Now(None, {"w": torch.full((2, 3), 5.0)}, {}, {}, **more)


def test_members_work_in_the_order_in_which_they_are_given_each_on_its_own_state():
    results = []
    for order in (("double", "add"), ("add", "double")):
        members = {"double": Told(lambda w: 2 * w), "add": Told(lambda w: w + 1)}
        composed, situation = Composed({name: members[name] for name in order}), now()
        state = composed.after_step(situation._replace(state=composed.start(situation)))
        assert {name: value.tolist() for name, value in state.items()} == {
            "double.count": [1, 1],
            "add.count": [1, 1],
        }
        results.append(situation.parameters["w"][0, 0].item())
    assert results == [11, 12]


def test_rare_work_is_done_by_those_whose_turn_it_is():
    members = {"four": Told(None, every=4), "never": Told(None), "six": Told(None, every=6)}
    composed = Composed(members)
    assert composed.every == 2
    for updates in range(2, 13, composed.every):
        composed.every_n_updates(now(updates=updates))
    assert [each.asked for each in members.values()] == [[4, 8, 12], [], [6, 12]]


def test_penalties_add_up_each_with_its_own_strength():
    composed = Composed({"weak": L2Init(), "strong": L2Init()})
    state = {f"{name}.w": torch.full((2, 3), 3.0) for name in composed.members}
    strengths = {"weak.strength": torch.tensor([0.5, 1.0]), "strong.strength": torch.tensor([2.0, 4.0])}
    assert composed.penalty(now()._replace(state=state, settings=strengths)).tolist() == [30.0, 60.0]
    assert list(composed.on_run_axis()) == ["weak.strength", "strong.strength"]


def test_members_after_the_first_draw_other_numbers():
    seen = {}

    class Draws(Intervention):
        def __init__(self, name):
            self.name = name

        def after_step(self, now):
            seen[self.name] = now.keys.tolist()
            return now.state

    Composed({"a": Draws("a"), "b": Draws("b")}).after_step(now(keys=torch.tensor([[1, 2], [3, 4]])))
    assert seen["a"] == [[1, 2], [3, 4]]
    assert not np.isin(seen["b"], seen["a"]).all()


def test_beside_one_that_does_nothing_a_run_is_as_without_it():
    alone = trained(packs_of(*DIGITS, "intervention=l2_init", "seed=0,1"))
    beside = trained(packs_of(*DIGITS, "intervention=[l2_init,redo]", NEVER, "seed=0,1"))
    for one, other in zip(alone, beside, strict=True):
        assert not [name for name in one if name != "metrics" and one[name] != other[name]]
    both = trained(packs_of(*BOTH, "seed=0,1"))
    assert [name for name in both[0] if name != "metrics" and both[0][name] != alone[0][name]]


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=[needs_compiler, pytest.mark.slow])])
def test_packed_is_alone_and_resumed(compiled):
    sweep = packs_of(*BOTH, "intervention.l2_init.strength=0.01,0.1", "seed=0,1")
    packed = trained(sweep, compiled=compiled)
    assert not differing(trained(sweep[2:3], compiled=compiled)[0], packed[2])
    if not compiled:
        assert not differing(trained(sweep, stops=(1, 2))[2], packed[2])
    assert len({each["output.weight"] for each in packed}) == 4


def test_the_step_with_both_is_one_graph(monkeypatch):
    """Captured as it is for the compiler, and computed by torch's own operations."""

    def captured(function, arguments):
        return torch.compile(function, fullgraph=True, dynamic=False, backend="eager")

    monkeypatch.setattr(graphs, "graph_of", lambda function, same, arguments: captured(function, arguments))
    sweep = packs_of(*BOTH, "intervention.l2_init.strength=0.01,0.1", "seed=0")
    for eager, ours in zip(trained(sweep), trained(sweep, compiled=True), strict=True):
        for name in eager.keys() - {"metrics"}:
            values = [np.frombuffer(each[name], np.float32) for each in (ours, eager)]
            np.testing.assert_allclose(*values, rtol=1e-4, atol=1e-5)


def test_what_two_members_measure_under_one_name_has_theirs_before_it():
    def measured(*options):
        (run,) = packs_of(*DIGITS, f"intervention=[{','.join(options)}]", "seed=0")
        names = [column.name for column in measures_of(run.targets, run.science).columns if "resets" in column.name]
        composed = run.component("intervention", Composed)
        assert sorted(composed.columns_of(composed.members), key=str) == sorted(
            [column for column in measures_of(run.targets).columns if "resets" in column.name], key=str
        )
        return names

    assert measured("l2_init", "redo") == ["resets"]
    assert measured("redo", "snr") == ["redo_resets", "snr_resets"]


def test_several_at_once_are_not_the_simple_work_that_kernels_do():
    """Each of these is, alone; together their pulls and bounds would be lost."""
    for each in (L2Init(), WeightClipping(), ShrinkAndPerturb()):
        assert each.is_held()
    assert not Composed({"pull": L2Init(), "bound": WeightClipping()}).is_held()
    assert not Composed({"pull": L2Init(), "shrink": ShrinkAndPerturb()}).is_held()
    assert not ReDo().is_held()
    assert not L2Init(power=1).is_held()
