"""Answers of classes that the user's cache keeps: they change no run, and nothing but the same question finds them."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launch.command import resolve
from launch.runs import answers
from launch.runs.answers import answer, answers_kept, save_answers
from plasticity_lab import component
from tests.conf.test_run_ids import COMMANDS
from tests.helpers.login_node import LoginNode
from tests.helpers.stores import left_behind

ROOT = Path(__file__).resolve().parents[3]
OURS, THEIRS = "plasticity_lab.activations.relu.ReLU", "mine.ReLU"
SHORT = sorted(
    command for command, runs in COMMANDS.items() if int(runs.split()[0]) <= 60 and "selected" not in command
)
WORDS = [
    "activation=glob(*) perturbation=shocks,none perturbation.cycle=1",
    "agent=dqn benchmark=catch agent.n_step=1,3",
    "intervention=[l2_init,redo] intervention.redo.every=7 protocol=clean",
    "diagnostics=cheap diagnostics.every=task",
    "hyperparams=grid activation=smooth_leaky,rrelu intervention=l2_init",
]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of the test's own → the folder of answers in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "plasticity_lab" / "answers"


def spelled(words):
    """All that a command's runs hold, and what is said of them, as text: 1, 1.0 and true differ."""
    found = resolve(words)
    return json.dumps([[run.as_json() for run in found.runs], found.notes])


def asked(question="settings", classes=(OURS,), given=None, found=1):
    """Asks in a command of its own → the answer, and whether the classes were asked."""
    calls = []
    with answers_kept():
        value = answer(question, list(classes), given, lambda: calls.append(0) or found)
        save_answers()
    return value, bool(calls)


@pytest.mark.walk(1)
@pytest.mark.parametrize("command", [*WORDS, *SHORT])
def test_a_run_is_the_same_whether_answers_are_kept_and_asks_no_class_again(command, cache, monkeypatch):
    words = shlex.split(command)
    plain = spelled(words)
    with answers_kept():
        assert spelled(words) == plain
        save_answers()
    monkeypatch.setattr(component, "load", lambda target: pytest.fail(f"{target} was imported"))
    with answers_kept():
        assert spelled(words) == plain


@pytest.mark.sample(1)
def test_only_the_same_question_finds_an_answer(cache):
    given = {"a": 1, "b": [True, None, "x"]}
    assert asked(given=given) == (1, True)
    assert asked(given=given) == (1, False)
    others = [{"a": 1.0, "b": [True, None, "x"]}, {"a": True, "b": [True, None, "x"]}, {"a": 1, "b": [1, None, "x"]}]
    for other in (*others, {"b": [True, None, "x"], "a": 1}):
        assert asked(given=other)[1]
    assert asked(question="defaults", given=given)[1]
    assert asked(classes=(OURS, OURS), given=given)[1]


@pytest.mark.sample(1)
def test_what_json_would_change_is_asked_again(cache):
    for found in ((1, 2), {1: 2}, {"a": {3, 4}}, object):
        assert asked(given=repr(found), found=found) == (found, True)
        assert asked(given=repr(found), found=found) == (found, True)
    for given in ((1, 2), {1: 2}):
        assert [asked(given=given)[1] for _ in range(2)] == [True, True]


def test_a_command_with_a_class_of_ones_own_asks_it_and_keeps_nothing(cache):
    assert [asked(classes=(OURS, THEIRS))[1] for _ in range(2)] == [True, True]
    with answers_kept():
        answer("settings", [OURS], None, lambda: 1)
        answer("settings", [THEIRS], None, lambda: 2)
        save_answers()
    assert not cache.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(file.read_bytes()[:-1]),
        lambda file: file.write_bytes(file.read_bytes().replace(b"1", b"2")),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"\xff" * 100),
        lambda file: file.chmod(0o666),
        lambda file: (file.unlink(), file.mkdir()),
    ],
)
def test_a_file_that_is_damaged_or_that_others_can_write_is_not_used(damage, cache):
    assert asked()[1]
    (file,) = cache.iterdir()
    damage(file)
    assert asked() == (1, True)


def test_a_cache_that_cannot_be_written_hinders_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert asked() == (1, True)


def test_other_code_other_settings_and_other_versions_have_answers_of_their_own(cache, tmp_path, monkeypatch):
    for folder in ("plasticity_lab/activations", "launch/runs", "conf/activation"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "site" / "numpy-1.dist-info").mkdir(parents=True)
    monkeypatch.setattr(answers, "CONF", tmp_path / "conf")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    seen = [asked()]
    for change in (
        lambda: (tmp_path / "plasticity_lab/activations/relu.py").write_text("# a comment"),
        lambda: (tmp_path / "plasticity_lab/activations/new.json").write_text("{}"),
        lambda: (tmp_path / "launch/runs/desk.py").write_text("# a comment"),
        lambda: (tmp_path / "conf/activation/relu.yaml").write_text("# a comment"),
        lambda: (tmp_path / "site" / "numpy-1.dist-info").rename(tmp_path / "site" / "numpy-2.dist-info"),
    ):
        change()
        seen += [asked(), asked()]
    assert seen == [(1, True)] + [(1, True), (1, False)] * 5
    assert len([*cache.iterdir()]) == answers.DIGESTS


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("words", "data", "finished"),
    [
        (["activation=relu,elu", "schedule=smoke", "device=cpu"], "", 2),
        (["experiment=table2", "activation=relu", "seed=0", "schedule=smoke"], "MNIST/raw", 2),
        (["activation=relu,elu", "schedule=smoke", "hydra/launcher=packed_slurm"], "", 2),
    ],
    ids=["local", "a preset with benchmarks whose data are not here", "on Slurm"],
)
def test_a_command_without_work_imports_no_torch(words, data, finished, cache, tmp_path, monkeypatch):
    (tmp_path / "data" / data).mkdir(parents=True)
    left_behind(tmp_path / "store", [word for word in words if "launcher" not in word], lambda science: 0.5)
    LoginNode(tmp_path, monkeypatch)
    code = "import sys; from launch.command import run_command; status = run_command(sys.argv[1:], with_process=True)"
    code += "; print('torch' in sys.modules); sys.exit(status)"
    command = [sys.executable, "-c", code, *words, f"store={tmp_path / 'store'}", f"data={tmp_path / 'data'}"]
    for torch in ("True", "False"):  # the first one asks the classes
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == torch
    assert f"All {finished} runs are finished already" in done.stderr
    assert ("left out" in done.stderr) == bool(data)


def test_an_answer_can_be_changed_by_who_gets_it(cache):
    for _ in range(2):
        value, _ = asked(found={"a": [1]})
        assert value == {"a": [1]}
        value["a"].append(2)


def test_what_is_edited_while_a_command_runs_leaves_no_answer(cache, tmp_path, monkeypatch):
    (tmp_path / "plasticity_lab").mkdir()
    monkeypatch.setattr(answers, "CONF", tmp_path / "conf")
    with answers_kept():
        answer("settings", [OURS], None, lambda: 1)
        (tmp_path / "plasticity_lab" / "new.py").write_text("")
        save_answers()
    assert not cache.exists()
