"""Every preset against its published source: settings of its configuration, defaults of its Python, words of a paper.

The tables and what their columns are: tests/helpers/preset_sources.py. A new preset needs lines, or a reason why it has
none.
"""

import numpy as np
import pytest

from launch.command import resolve
from tests.helpers import preset_sources as sources
from tests.helpers.preset_sources import lines_of, values

KINDS = {"gin", "config", "python", "code", "paper"}
WITH = [preset for preset in sources.presets() if lines_of(preset)]
OF_COMPONENTS = [preset for preset in WITH if not preset.startswith("experiment/")]
EXPERIMENTS = [preset.removeprefix("experiment/") for preset in WITH if preset.startswith("experiment/")]
BESIDE = {
    "agent/sac": "benchmark=mujoco",
    "agent/ppo": "benchmark=mujoco",
    "agent/ppo_cleanrl": "benchmark=mujoco",
    "agent/experience_replay": "benchmark=split_cifar100",
}
"""What an agent is resolved beside; value agents beside Atari."""
NO_SETTINGS = {"hyperparams", "diagnostics", "seed", "benchmark.game", "activation"}
"""Of an experiment those keys that no setting of a run answers to, or that the test itself has typed."""


def test_every_preset_has_lines_or_a_reason_why_it_has_no_source():
    reasons = {line["preset"]: line["reason"] for line in sources.table("without_source")}
    assert all(reasons.values())
    missing = set(sources.presets()) - set(WITH) - reasons.keys()
    assert not missing, "each needs lines in tests/conf/sources, or one in without_source.csv"
    assert not reasons.keys() & set(WITH), "a preset has a source or it has none"
    assert reasons.keys() <= set(sources.presets())
    named = {f"{group}/{line['preset']}" for group in sources.GROUPS for line in sources.table(group)}
    assert named <= set(sources.presets())


@pytest.mark.parametrize("group", sources.GROUPS)
def test_a_line_says_where_its_source_says_it_and_why_it_differs(group):
    known = {line["source"]: line for line in sources.table("sources")}
    assert all(line["revision"] and line["whose"] for line in known.values())
    for line in sources.table(group):
        relation, note = line["relation"], line["note"]
        assert relation in ("equal", "notation", "differs", "ours"), line
        if relation == "ours":
            assert note, line
            assert not line["theirs"] + line["source"] + line["file"] + line["name"] + line["kind"], line
            continue
        assert line["theirs"], line
        assert line["name"], line
        assert line["kind"] in KINDS, line
        assert bool(line["file"]) == (line["kind"] != "paper"), line
        assert line["kind"] == "paper" or known[line["source"]]["repository"], line
        if relation == "equal":
            assert values(line["ours"]) == values(line["theirs"]), line
        else:
            assert note, line


@pytest.mark.parametrize("preset", OF_COMPONENTS)
def test_an_agent_or_a_benchmark_has_the_settings_of_its_lines_and_a_line_for_each(preset):
    lines = lines_of(preset)
    assert {line["key"]: line["ours"] for line in lines if not _has(preset, line)} == {}
    assert sources.settings(preset).keys() - {line["key"] for line in lines} == set(), "each needs a line"


def _has(preset, line):
    return sources.value(str(sources.setting(preset, line["key"]))) == sources.value(line["ours"])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_the_values_of_its_lines_and_a_line_for_each(name):
    arms, lines = sources.arms(name), lines_of(f"experiment/{name}")
    for line in lines:
        found = [arm[line["key"]] for arm in arms if sources.matches(arm, line["where"]) and line["key"] in arm]
        assert set().union(*found) == values(line["ours"]), line
    for arm in arms:
        stated = {line["key"] for line in lines if sources.matches(arm, line["where"])}
        assert arm.keys() - stated == set(), "each needs a line"


@pytest.mark.slow
@pytest.mark.parametrize("preset", WITH)
def test_what_a_preset_resolves_to_has_the_values_of_its_lines(preset):
    _check_resolved(preset)


def test_what_three_drawn_presets_resolve_to_has_the_values_of_their_lines():
    """Of any three: that of all takes minutes."""
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"drawn by seed {seed}")
    for preset in np.random.default_rng(seed).choice(WITH, 3, replace=False):
        _check_resolved(str(preset))


def _check_resolved(preset):
    """Each value that a line states is that of a run, and no other where all arms say which."""
    group, name = preset.split("/")
    words = [f"{group}={name}", "seed=0"]
    if group == "agent":
        words.append(BESIDE.get(preset, "benchmark=atari"))
    stated = sources.arms(name) if group == "experiment" else [{}]
    games = any("benchmark.game" in arm for arm in stated)
    if games:
        words.append(f"benchmark.game={'coinrun' if 'games16' in str(stated) else 'pong'}")
    if any("activation" in arm for arm in stated) and not any("optimizer.lr" in arm for arm in stated):
        words.append("activation=relu")
    runs = [run.science for run in resolve(words).runs]
    for line in lines_of(preset):
        key = line["key"] if group == "experiment" else f"{group}.{line['key']}"
        if key.count(".") == 3 or key.split(".")[-1].startswith("default_") or "activation" in line["where"]:
            continue  # of another choice, or of what stands beside it
        if line["key"] in NO_SETTINGS or (group == "benchmark" and line["key"].count(".")):
            continue
        matching = [run for run in runs if _matches(run, line["where"])]
        found = {_of(run, key) for run in matching} - {"absent"}
        missing = {each for each in values(line["ours"]) if each not in found}
        assert not missing, (preset, line, found)
        chosen = [arm for arm in stated if sources.matches(arm, line["where"])]
        if group != "experiment" or all(line["key"] in arm for arm in chosen):
            assert found == values(line["ours"]), (preset, line)


def _of(run, key):
    group, _, setting = key.partition(".")
    part = run.get(group, {"name": {"head": "flatten"}.get(group, "none")})
    if not setting:
        return sources.value(part["name"])
    return sources.value(str(part[setting])) if setting in part else "absent"


def _matches(run, where):
    key, _, wanted = where.partition("=")
    return not where or _of(run, key) == sources.value(wanted)
