"""In which updates Self-Normalized Resets resets a unit, worked out by hand."""

import pytest
import torch

from plasticity_lab.interventions.snr import SelfNormalizedResets
from tests.agents.ppo.packs import ONE, there_are
from tests.agents.ppo.packs import begun as begun_there
from tests.helpers.packs import images, run, trained
from tests.helpers.situations import after, begun, changed_columns, copied, silent
from tests.tenants.packs import packs_of


def reset_at(fires: set[int], until: int, **settings) -> list[int]:
    """The updates after which unit 0 has been reset, if it fires in those updates alone; its mates always fire.

    Batches have four examples; updates are counted from 1.
    """
    pack = [SelfNormalizedResets(**settings)]
    now, found = begun(pack), []
    for update in range(1, until + 1):
        hidden = silent(now)
        for value in hidden.values():
            value[:] = 1.0
        hidden["hidden1"][:, :, 0] = float(update in fires)
        before = copied(now)
        now = after(pack, now, hidden)
        found += [update] * changed_columns(before["hidden1.weight"][0], now.parameters["hidden1.weight"][0]).count(0)
    assert now.state["resets"].tolist() == [len(found)]
    return found


HOW = {"strength": 0.01, "min_age": 16, "min_count": 3}
"""η = 0.01; four updates of four examples; three gaps."""


def test_a_rate_is_known_from_exactly_min_count_gaps_on():
    """Fired in updates 1, 2 and 3: three gaps of 1. Silent from update 4 on, for 16 examples with update 7."""
    assert reset_at({1, 2, 3}, 9, **HOW) == [7]
    assert reset_at({1, 2}, 40, **HOW) == []


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        # Gaps 1, 1, 1: mean 1, reset after the shortest silence that counts, 4. Then the mean of 1, 1, 1, 4 is 1.75:
        # (0.75/1.75)⁵ = 0.0145, ⁶ = 0.0062, so after 6. Mean of 1, 1, 1, 4, 6: 2.6; (1.6/2.6)⁹ = 0.0127, ¹⁰ = 0.0078.
        (1000, [7, 13, 23]),
        # A window of two: m ← m + (d − m)/2. 1 + 3/2 = 2.5: 0.6⁹ = 0.01008, 0.6¹⁰ = 0.006. 2.5 + 7.5/2 = 6.25:
        # 0.84²⁶ = 0.0107, 0.84²⁷ = 0.0090.
        (2, [7, 17, 44]),
    ],
)
def test_a_silence_that_a_reset_ends_is_one_of_the_gaps(window, expected):
    settings = HOW | {"min_count": 2, "window": window}
    assert reset_at({1, 2, 3}, expected[-1] + 3, **settings) == expected


def test_with_every_a_unit_waits_for_its_turn_and_its_silence_goes_on():
    """Every third update. Due at 7, reset at 9 after a silence of 6: the mean of 1, 1, 1, 6 is 2.25, and
    (1.25/2.25)⁷ = 0.0163, ⁸ = 0.0091. So it is due again at 17 and reset at 18, after 9: a mean of 3.6, and
    (2.6/3.6)¹⁴ = 0.0105, ¹⁵ = 0.0076: due at 33, which is a third one. Who fires while waiting is not reset.
    """
    settings = HOW | {"every": 3}
    assert reset_at({1, 2, 3}, 35, **settings) == [9, 18, 33]
    assert reset_at({1, 2, 3, 8}, 10, **settings) == []


def test_the_probability_of_a_silence_may_equal_the_strength():
    """Gaps 2, 2, 2 and η = ¼: after two silent updates ½² is not larger than η; at a little less than ¼ after three."""
    fires, settings = {2, 4, 6}, {"min_age": 1, "min_count": 3}
    assert reset_at(fires, 8, strength=0.25, **settings) == [8]
    assert reset_at(fires, 9, strength=0.2499, **settings) == [9]


def test_of_a_unit_that_always_fires_the_first_silence_that_counts_is_one_too_many():
    """Its mean is 1: a silent update has no probability at all, however small η is."""
    assert reset_at({1, 2, 3}, 4, strength=1e-5, min_age=1, min_count=3) == [4]
    assert reset_at({1, 2, 3}, 5, strength=1e-5, min_age=5, min_count=3) == [5]


def test_a_value_fires_by_its_size_and_each_run_has_its_own_epsilon():
    pack = [SelfNormalizedResets(0.01, epsilon=epsilon) for epsilon in (0.5, 2.0)]
    now = begun(pack)
    hidden = silent(now)
    hidden["hidden1"][:, 0, 1] = -1.0
    now = after(pack, now, hidden)
    assert now.state["hidden1.count"].tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert now.state["hidden1.gap"].tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert torch.equal(now.state["hidden1.examples"], torch.tensor([[4.0, 0, 4, 4], [4, 4, 4, 4]]))


def test_what_an_agent_shows_is_counted_without_the_rows_that_fill_up_its_batches(monkeypatch):
    """Nothing is larger than this epsilon, so a silence is as long as all that was shown. Supervised: 61 images in
    batches of 16, of which the last has 13. PPO: 33 steps twice, in minibatches of 11 that are stored as 12.
    """
    silence = {"epsilon": 1e9, "strength": 0.0}
    target = f"{SelfNormalizedResets.__module__}.{SelfNormalizedResets.__name__}"
    supervised = trained([run(1, intervention=(target, silence), images=61)], images(8, 61, 20)).agent.network.kept
    assert supervised["hidden1.examples"].unique().tolist() == [61]
    assert supervised["hidden1.age"].unique().tolist() == [4]
    there_are(monkeypatch)
    words = ("intervention=snr", *(f"intervention.{name}={value}" for name, value in silence.items()))
    cut = ("agent.rollout=33", "agent.minibatches=3", "benchmark.environment_steps=33")
    learner, (chunk, *_) = begun_there(packs_of(*ONE, *words, *cut, "seed=0"))
    learner.advance(chunk)
    assert learner.network.kept["trunk1.examples"].unique().tolist() == [66]
    assert learner.network.kept["trunk1.age"].unique().tolist() == [6]
