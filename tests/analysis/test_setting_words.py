"""What headings say of settings."""

import pytest

from analysis.setting_words import telling, words_of

REPLAY = {"agent.name": "experience_replay", "agent.memory": 280, "agent.per_task": 56}
NONE = {"agent.name": "no_replay"}


@pytest.mark.parametrize(
    ("several", "names", "words"),
    [
        ([REPLAY, NONE], ["agent.name"], ["experience replay", "no replay"]),
        ([REPLAY, REPLAY | {"agent.memory": 20}], ["agent.memory"], ["memory=280", "memory=20"]),
        (
            [REPLAY, REPLAY | {"agent.memory": 20}, NONE],
            ["agent.memory", "agent.name"],
            ["memory=280, experience replay", "memory=20, experience replay", "memory=null, no replay"],
        ),
        (
            [{"network.width": 1, "agent.width": 2}, {"network.width": 3, "agent.width": 4}],
            ["agent.width", "network.width"],
            ["agent.width=2, network.width=1", "agent.width=4, network.width=3"],
        ),
        (
            [{"intervention.name": "none"}, {"intervention.name": "l2_init"}],
            ["intervention.name"],
            ["none", "+L2-Init"],
        ),
        ([{}, {"head.name": "softmoe"}], ["head.name"], ["flatten", "softmoe"]),
        ([NONE, NONE], [], ["", ""]),
    ],
)
def test_only_what_differs_is_said_and_what_follows_from_an_option_is_not(several, names, words):
    assert telling(several) == names
    assert [words_of(settings, names) for settings in several] == words
