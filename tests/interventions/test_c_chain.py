"""C-CHAIN: term, coefficient and window by hand, and whole packs of DQN beside plain PyTorch."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from launch.command import resolve
from plasticity_lab.assembly import assembled, cost_of, resources
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.c_chain import PREVIOUS, CChain
from plasticity_lab.interventions.now import Now
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.agents.ppo.packs import BOTH, there_are
from tests.agents.value.packs import SMALL, begun, numbers
from tests.tenants.packs import hold, packs_of


def of_one_weight(pack: list[CChain], in_round: int) -> Now:
    """Runs with one weight w = 1 and the output w · x, and a second batch of x = 1, 3, and a padding row."""
    return Now(
        SimpleNamespace(),
        {"w": torch.ones(len(pack))},
        on_run_axis(pack),
        {},
        second=torch.tensor([[1.0, 3.0, 100.0]]).expand(len(pack), -1),
        forward=lambda own, x: ({"q": own["w"].unsqueeze(1) * x}, {}),
        divergence=lambda outputs, reference: (outputs["q"] - reference["q"].detach()).square(),
        weights=torch.tensor([0.5, 0.5, 0.0]),
        round=in_round,
    )


def updated(intervention: CChain, now: Now, count: int, loss: float, w: float):
    """The penalty of an update, and the situation after it: the optimizer has made of w what is given."""
    now = now._replace(count=torch.tensor(count), loss=torch.full((len(now.parameters["w"]), 3), loss))

    def total(parameters):
        found = intervention.penalty(now._replace(parameters=parameters))
        return found.total.sum(), (found.total, found.noted)

    gradient, (penalty, noted) = torch.func.grad(total, has_aux=True)(now.parameters)
    moved = {"w": torch.full_like(now.parameters["w"], w)}
    state = intervention.after_step(now._replace(noted=noted, before=now.parameters, parameters=moved))
    return penalty, gradient["w"], noted["coefficient"].tolist(), now._replace(state=state, parameters=moved)


def test_term_and_coefficient_by_hand():
    """D = (w − w')² (1 + 9) / 2 = 5 (w − w')². Of w = 1, 2, 2.5, 2.7, 2.9, 3.1, D is 0 (skipped), 5, 1.25, 0.2, …

    The losses −2, 4, 6, 8: c is 100 in the first two updates, then ρ · mean|L| / mean D: (2 + 4) / 2 and 5, as the
    first update has no D; with a window of two, (4 + 6) / 2 and 3.125, then 7 and 0.725. By w: c · 10 (w − w').
    """
    pack = [CChain(strength=strength, first=2, window=2, skipped=1, per_task="none") for strength in (0.0, 1.0, 10.0)]
    now = of_one_weight(pack, 1)
    now = now._replace(state=pack[0].start(now))
    cs, terms = [], []
    w = [1.0, 2.0, 2.5, 2.7, 2.9, 3.1]
    for count, loss in enumerate((-2.0, 4.0, 6.0, 8.0, 1.0)):
        penalty, gradient, c, now = updated(pack[0], now, count, loss, w[count + 1])
        change = w[count] - w[count - 1] if count else 0.0
        torch.testing.assert_close(penalty, torch.tensor(c) * 5 * change**2)
        torch.testing.assert_close(gradient, torch.tensor(c) * 10 * change)
        cs.append(c)
        terms.append(penalty)
    expected = [100.0, 100.0, 3 / 5, 5 / 3.125, 7 / 0.725]
    assert np.array(cs)[:, 1].tolist() == pytest.approx(expected, rel=1e-5)
    assert np.array(cs)[2:, 2].tolist() == pytest.approx([10 * c for c in expected[2:]], rel=1e-5)
    assert not np.array(cs)[:, 0].any(), "a strength of 0 is a plain run from the first update on"
    assert now.state[f"{PREVIOUS}w"].tolist() == pytest.approx([2.9] * 3)


@pytest.mark.parametrize(
    ("of_round", "loss", "divergence"), [("last", [3.0, 1.0], [1.25, 5.0]), ("mean", [1.0, 3.0], [2.5, 5.0])]
)
def test_a_round_is_one_entry(of_round, loss, divergence):
    """Rounds of two updates. Their losses −5, 3 and 5, 1 have the means −1 and 3, and the last ones 3 and 1. w steps by
    √(D / 5), D = 3.75, 1.25 and 5, 5; c changes between rounds alone.
    """
    intervention = CChain(strength=1.0, initial=7.0, first=1, window=9, skipped=0, of_round=of_round, least=0.5)
    now = of_one_weight([intervention], 2)
    state = intervention.start(now)
    state[f"{PREVIOUS}w"] -= (3.75 / 5) ** 0.5
    now, cs = now._replace(state=state), []
    steps = np.sqrt(np.array([1.25, 5.0, 5.0, 0.0]) / 5)
    for count, own in enumerate((-5.0, 3.0, 5.0, 1.0)):
        _, _, (c,), now = updated(intervention, now, count, own, float(now.parameters["w"][0] + steps[count]))
        cs.append(c)
    torch.testing.assert_close(now.state["window"][0, :2, 0], torch.tensor(loss))
    torch.testing.assert_close(now.state["window"][0, :2, 1], torch.tensor(divergence))
    assert now.state["rounds"].tolist() == [[2, 2]]
    assert cs == pytest.approx([7.0, 7.0] + [max(loss[0] / divergence[0], 0.5)] * 2, rel=1e-5)


def test_the_sums_are_those_of_the_window_however_the_losses_fall():
    """After losses of a million the ring comes round, and its sums are exact again."""
    intervention = CChain(first=1, window=5, skipped=0)
    now = of_one_weight([intervention], 1)
    now = now._replace(state=intervention.start(now))
    for count in range(23):
        loss = 1e6 / 3 if count < 9 else 1e-6 / 3
        *_, now = updated(intervention, now, count, loss, 1.0 + count / 7)
        window = now.state["window"].double().sum(dim=1)
        torch.testing.assert_close(now.state["sums"], window, rtol=1e-6, atol=1e-9)
    assert torch.equal(now.state["sums"][:, 0], 5 * now.state["window"].double()[:, 0, 0])


def test_the_parts_of_per_task_begin_again():
    for per_task, again in (("all", ("rounds", "updates")), ("means", ("rounds",)), ("none", ())):
        intervention = CChain(first=1, window=3, per_task=per_task)
        now = of_one_weight([intervention], 1)
        *_, now = updated(intervention, now._replace(state=intervention.start(now)), 0, 1.0, 4.0)
        state = intervention.before_task(now)
        assert [name for name in ("rounds", "updates") if not state[name].any()] == list(again)
        assert state[f"{PREVIOUS}w"].tolist() == ([4.0] if per_task == "all" else [1.0])


class Plain:
    """One run of DQN with C-CHAIN: plain layers, torch's Adam, and lists of losses."""

    def __init__(self, learner, run: int, strength: float):
        layers = learner.network.model.design.layers
        own = {name: value[run].clone() for name, value in learner.network.parameters.items()}
        self.own = [
            own[f"{layer.name}.{part}"][..., : layer.outputs].requires_grad_()
            for layer in layers
            for part in ("weight", "bias")
        ]
        self.target = [value.detach().clone() for value in self.own]
        self.history, self.losses, self.terms, self.strength, self.c = [self.target], [], [], strength, 50.0
        self.adam = torch.optim.Adam(self.own, lr=3e-3)

    def q(self, parameters, x):
        x = x.float() / 255
        for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            x = torch.relu(x @ weight + bias)
        return x @ parameters[-2] + parameters[-1]

    def update(self, batch, second, first: int, window: int):
        with torch.no_grad():
            target = batch["returns"] + batch["discount"] * self.q(self.target, batch["following"]).amax(dim=1)
        own = self.q(self.own, batch["x"]).gather(1, batch["action"][:, None])[:, 0]
        loss = ((own - target) ** 2).mean()
        term = torch.zeros(())
        if len(self.history) > 1:
            with torch.no_grad():
                before = self.q(self.history[-2], second)
            term = ((self.q(self.own, second) - before) ** 2).mean()
            self.terms.append(term.item())
        self.losses.append(loss.item())
        self.adam.zero_grad()
        (loss + self.c * term).backward()
        self.adam.step()
        self.history.append([value.detach().clone() for value in self.own])
        if len(self.losses) >= first:
            self.c = self.strength * np.mean(self.losses[-window:]) / (np.mean(self.terms[-window:]) + 1e-8)


def test_a_pack_of_three_strengths_takes_the_steps_of_plain_pytorch():
    """Fifty updates; c of each run is its own."""
    strengths = (0.0003, 0.001, 0.003)
    words = ("intervention=c_chain_dqn", "intervention.first=10", "intervention.window=20")
    words += (f"intervention.strength={','.join(map(str, strengths))}", "agent.update_period=1")
    words += ("activation=relu", "optimizer.lr=3e-3", "optimizer.epsilon=1e-8", "agent.target_period=100000")
    learner, chunks = begun(packs_of(*SMALL, *words, "benchmark.environment_steps=110", "seed=0"))
    twins = [Plain(learner, run, strength) for run, strength in enumerate(strengths)]
    step, taken = learner.step, []

    def beside(*arguments):
        state = step(*arguments)
        batch = arguments[4]
        for run, twin in enumerate(twins):
            if taken:  # before, c is that of no update
                assert state["coefficient"][run].item() == pytest.approx(twin.c, rel=1e-4)
            own = {name: value[run] for name, value in batch.items() if name != "weight"}
            twin.update(own, own.pop("second x"), 10, 20)
        taken.append(state["coefficient"].tolist())
        return state

    learner.step = beside
    for chunk in chunks:
        learner.advance(chunk)
    assert len(taken) == 50
    assert len(set(taken[-1])) == 3
    for run, twin in enumerate(twins):
        weight = learner.network.parameters["hidden1.weight"][run]
        torch.testing.assert_close(weight, twin.own[0].detach(), atol=2e-6, rtol=1e-4)


def test_a_strength_of_0_is_the_plain_run_bit_for_bit():
    learned = []
    for intervention in (["none"], ["c_chain_dqn", "intervention.strength=0", "intervention.first=2"]):
        words = (f"intervention={intervention[0]}", *intervention[1:], "benchmark.environment_steps=120", "seed=0")
        learner, chunks = begun(packs_of(*SMALL, *words))
        for chunk in chunks:
            learner.advance(chunk)
        learned.append(numbers(learner))
    assert all(torch.equal(value, learned[1][name]) for name, value in learned[0].items())


@pytest.mark.slow
def test_beside_another_intervention_it_keeps_its_own_notes():
    words = ("intervention=[l2_init,c_chain_dqn]", "intervention.c_chain_dqn.first=2", "benchmark.environment_steps=90")
    hold(*SMALL, *words, "intervention.l2_init.strength=0.01", "seed=0,1", stops=[2])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("agent=sac", "benchmark=classic_cycle", "intervention=c_chain"), "second batch"),
        ((*SMALL, "intervention=[fresh_each_task,c_chain_dqn]"), "per_task=all"),
    ],
)
def test_refused(words, named):
    with pytest.raises(ConfigError, match=named):
        resolve(list(words))


def test_with_everything_of_a_task_beside_a_fresh_network():
    assert resolve([*SMALL, "intervention=[fresh_each_task,c_chain]"]).runs


def test_plans_price_passes_copies_and_window(monkeypatch):
    there_are(monkeypatch)
    for words, option in ((SMALL, "c_chain_dqn"), (BOTH, "c_chain")):
        ours, plain = (packs_of(*words, f"intervention={name}", "seed=0")[0] for name in (option, "none"))
        resource = resources(None)(ours)
        cost, without = cost_of(ours, resource), cost_of(plain, resource)
        assert cost.flops > 1.5 * without.flops
        assert (
            cost.device_bytes - without.device_bytes > 8 * cost.parameters + 16 * ours.science["intervention"]["window"]
        )
        assert cost.parameters == without.parameters
        _, learner = assembled([ours], resource, torch.device("cpu"), False)
        assert not [name for name in learner.weights() if PREVIOUS in name]
