"""How a rollout becomes minibatches: on a rollout small enough to be followed row by row.

Two runs, three steps of two environments; every step ends an episode, so that an advantage is reward − value.
"""

import numpy as np
import pytest
import torch

from plasticity_lab.agents.ppo.minibatches import Minibatches
from plasticity_lab.agents.ppo.rollout import Transitions
from plasticity_lab.records.rows import Episodes

K, T, N = 2, 3, 2
ROWS = T * N
SETTINGS = {"gamma": np.ones(K), "gae_lambda": np.ones(K)}
VALUE = np.full((K, T, N), 0.5, np.float32)
REWARD = np.arange(K * T * N).reshape(K, T, N) ** 2.0
LOGITS = np.stack([np.zeros((K, T, N)), np.arange(K * T * N).reshape(K, T, N) / 4.0], axis=3).astype(np.float32)


def tables(normalised="none", minibatches=2, passes=2, seeds=(3, 1), first=0):
    nothing = np.zeros(0, np.int64)
    seen = Transitions(
        x=np.arange(K * T * N, dtype=np.float32).reshape(K, T, N, 1),
        action=np.arange(K * T * N).reshape(K, T, N) % 2,
        outputs={"policy": LOGITS, "value": VALUE[..., None]},
        rewards=REWARD,
        following=np.full((K, T, N), np.nan, np.float32),
        terminated=np.ones((K, T, N), bool),
        ended=np.ones((K, T, N), bool),
        finite=np.ones(K, bool),
        episodes=Episodes(nothing, nothing, {}),
    )
    cut = Minibatches(ROWS, minibatches, passes, normalised)
    return cut, *cut.tables(seen, SETTINGS, list(seeds), first)


def test_a_row_of_the_rollout_is_one_step_of_one_environment_of_one_run():
    cut, common, _ = tables()
    assert (cut.size, cut.padded, cut.updates) == (3, 4, 4)
    assert common["x"].flatten().tolist() == list(range(K * ROWS))
    assert common["action"].tolist() == [0, 1] * 6
    assert common["value"].tolist() == [0.5] * 12
    assert common["target"].tolist() == [row**2 for row in range(K * ROWS)]  # advantage + value: what was earned
    assert common["weight"].tolist() == [pytest.approx(1 / 3)] * 3 + [0]
    # Action 1 of two with logits 0 and z has the probability 1 / (1 + e^−z), action 0 the rest.
    z = LOGITS[..., 1].flatten().astype(np.float64)
    sign = np.where(np.arange(K * ROWS) % 2, -1, 1)
    np.testing.assert_allclose(common["old"].numpy(), -np.log1p(np.exp(sign * z)), rtol=1e-5)


def test_each_pass_shows_every_row_of_a_run_once_in_an_order_of_its_own():
    _, _, each = tables(passes=3)
    pick = each["pick"].numpy()[:, :, :3].reshape(3, 2, K, 3)  # (passes, minibatches of a pass, K, size)
    orders = pick.transpose(2, 0, 1, 3).reshape(K, 3, ROWS) - np.arange(K).reshape(K, 1, 1) * ROWS
    assert (np.sort(orders, axis=2) == np.arange(ROWS)).all()
    assert len({tuple(order) for order in orders.reshape(-1, ROWS).tolist()}) == K * 3
    later, alone = tables(passes=3, first=12)[2], tables(passes=3, seeds=(3, 3))[2]
    assert not torch.equal(later["pick"], each["pick"])
    assert torch.equal(alone["pick"][:, 0], each["pick"][:, 0])
    assert torch.equal(alone["pick"][:, 1] - ROWS, each["pick"][:, 0])


@pytest.mark.parametrize("normalised", ["none", "batch", "minibatch"])
def test_an_advantage_goes_with_its_row_and_is_scaled_by_its_rollout_or_its_minibatch(normalised):
    """By the mean and the deviation of a sample, which of a minibatch of three is divided by two."""
    _, _, each = tables(normalised)
    plain = (REWARD - 0.5).reshape(K * ROWS)
    for pick, found in zip(each["pick"].numpy().reshape(-1, 4), each["advantage"].numpy().reshape(-1, 4), strict=True):
        own = plain[pick[:3]]
        among = {"none": None, "minibatch": own, "batch": plain[:ROWS] if pick[0] < ROWS else plain[ROWS:]}[normalised]
        expected = own if among is None else (own - among.mean()) / among.std(ddof=1)
        np.testing.assert_allclose(found[:3], expected, rtol=1e-5, atol=1e-6)
        assert found[3] == 0
