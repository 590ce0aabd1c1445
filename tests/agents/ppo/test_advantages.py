"""The recursion over a pack against the definition, run by run, environment by environment, term by term."""

import numpy as np

from plasticity_lab.agents.ppo.minibatches import advantages, normalised

K, T, N = 3, 40, 2


def rollout():
    draw = np.random.default_rng(0)
    rewards, values, following = draw.normal(size=(3, K, T, N))
    terminated = draw.random((K, T, N)) < 0.1
    truncated = (draw.random((K, T, N)) < 0.1) & ~terminated
    # Within an episode, what a step led to is what the next one starts from; a truncated one has a value of its own.
    goes_on = ~(terminated | truncated)[:, :-1]
    following[:, :-1] = np.where(goes_on, values[:, 1:], following[:, :-1])
    return rewards, values, following, terminated, truncated


def by_definition(rewards, values, following, terminated, truncated, gamma, lam):
    """Σ_l (γλ)^l δ_{t+l} while the episode lasts, quadratic in T."""
    found = np.zeros(T)
    for t in range(T):
        for later in range(t, T):
            value = 0.0 if terminated[later] else following[later]
            found[t] += (gamma * lam) ** (later - t) * (rewards[later] + gamma * value - values[later])
            if terminated[later] or truncated[later]:
                break
    return found


def test_they_are_as_defined_with_the_value_behind_a_truncation():
    rewards, values, following, terminated, truncated = rollout()
    gamma, lam = np.array([0.9, 0.99, 1.0]), np.array([0.95, 0.5, 1.0])
    found = advantages(rewards, values, following, terminated, terminated | truncated, gamma, lam)
    assert truncated.any()
    assert terminated.any()
    for k in range(K):
        for n in range(N):
            own = (each[k, :, n] for each in (rewards, values, following, terminated, truncated))
            np.testing.assert_allclose(found[k, :, n], by_definition(*own, gamma[k], lam[k]), rtol=1e-12, atol=1e-12)


def test_what_is_no_number_stays_in_its_episode():
    rewards, values, following, terminated, truncated = rollout()
    terminated[0, 20, 0], rewards[0, 30, 0] = True, np.nan
    following[0, 20, 0] = np.inf
    found = advantages(rewards, values, following, terminated, terminated | truncated, np.ones(K), np.ones(K))
    assert np.isfinite(found[0, :21, 0]).all()
    assert not np.isfinite(found[0, 30, 0])
    assert np.isfinite(found[1:]).all()


def test_normalised_has_mean_0_and_the_deviation_of_a_sample_1_row_by_row():
    values = np.random.default_rng(1).normal(3, 5, (4, 33))
    found = normalised(values)
    np.testing.assert_allclose(found.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found.std(axis=1, ddof=1), 1, rtol=1e-8)
    assert np.array_equal(found[2:3], normalised(values[2:3]))


def test_one_advantage_alone_is_its_own_mean():
    """A sample of one has no deviation: nothing is divided by 0."""
    assert normalised(np.array([[3.0], [-2.0]])).tolist() == [[0.0], [0.0]]
