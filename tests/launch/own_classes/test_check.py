"""Somebody's own classes, right and wrong ones of every group, as the commands check them."""

import inspect

import pytest

from launch.command import resolve, run_command
from launch.own_classes import check, packs
from launch.own_classes.check import checked
from launch.own_classes.named import own_classes
from launch.own_classes.tiny import tinies
from plasticity_lab.assembly import cost_of
from plasticity_lab.records.own_classes import digest_of_class
from tests.helpers.faulty_classes.activations import Plain
from tests.helpers.faulty_classes.interventions import Idle
from tests.helpers.faulty_classes.planting import FAULTY, IN_ORDER, planted
from tests.helpers.sweeps import SMOKE

pytestmark = pytest.mark.sample(1)

ALL_FAULTY = [(group, cls, word) for group, several in FAULTY.items() for cls, word in several.items()]


@pytest.fixture(autouse=True)
def _nothing_check(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)


def found(tmp_path, group, cls):
    others = {
        "head": ["network=cnn", "network.padding=same"],  # an MLP makes no feature map
        "target": ["agent=dqn", "benchmark=catch", "network=mlp"],
    }
    resolved = resolve([planted(tmp_path), f"{group}={cls.__name__.lower()}", *others.get(group, []), *SMOKE])
    (own,) = own_classes(resolved.runs)
    return checked(own, resolved.settings)


@pytest.mark.walk(1)
@pytest.mark.parametrize(("group", "cls"), [(group, cls) for group, several in IN_ORDER.items() for cls in several])
def test_a_class_in_order_passes(group, cls, tmp_path):
    result = found(tmp_path, group, cls)
    assert not result.faults
    assert len(result.lines) >= 8, "small packs were trained"
    assert bool(result.notes) == (cls is Idle)


def test_under_a_value_agent_a_small_pack_learns_too(tmp_path):
    """With an agent's own warm-up it would train nothing, and packed would equal alone whatever the class does."""
    words = [planted(tmp_path), f"activation={IN_ORDER['activation'][0].__name__.lower()}", "agent=dqn", "network=mlp"]
    resolved = resolve([*words, "benchmark=catch", "device=cpu"])
    (own,) = own_classes(resolved.runs)
    small = next(tinies(own, tmp_path))
    assert cost_of(small.runs[0], small.resource).updates > 20


@pytest.mark.walk(4)
@pytest.mark.parametrize(("group", "cls", "word"), ALL_FAULTY, ids=lambda each: getattr(each, "__name__", None))
def test_a_faulty_class_is_found_with_its_file_and_line(group, cls, word, tmp_path):
    result = found(tmp_path, group, cls)
    sentence = result.sentence
    assert f"{group}={cls.__name__.lower()}" in sentence
    assert cls.__name__ in sentence
    assert word in result.faults[0].what
    lines, first = inspect.getsourcelines(cls)
    where, _, line = result.faults[0].where.rpartition(", line ")
    assert where == inspect.getsourcefile(cls)
    # A learner is a class of its own, whose lines stand before the agent's.
    assert first <= int(line) < first + len(lines) or word == "'end'"


def test_the_command_is_refused_before_anything_is_written(tmp_path, capsys):
    store, where = tmp_path / "store", planted(tmp_path)
    for word, keys in (
        ("activation=relu,standardised", ("activation=standardised", "faulty_classes/activations.py")),
        ("intervention=misspelt", ("after_step",)),
    ):
        assert run_command([where, word, *SMOKE, f"store={store}"]) == 1
        said = capsys.readouterr().err.splitlines()[-1]
        assert all(key in said for key in (*keys, "python -m launch check"))
        assert not store.exists()


def test_a_class_is_checked_once_until_its_file_changes(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine_once.py").write_text(inspect.getsource(inspect.getmodule(Plain)))
    (tmp_path / "conf" / "activation").mkdir(parents=True)
    (tmp_path / "conf" / "activation" / "mine.yaml").write_text("_target_: mine_once.Plain\n")
    monkeypatch.syspath_prepend(tmp_path)
    resolved = resolve([f"hydra.searchpath=[file://{tmp_path / 'conf'}]", "activation=mine", *SMOKE])
    really, tried = check.checked, []
    monkeypatch.setattr(check, "checked", lambda own, settings: tried.append(own) or really(own, settings))
    for _ in range(2):
        check.check_own_classes(resolved.runs, resolved.settings, ["activation=mine"])
    assert len(tried) == 1
    with (tmp_path / "mine_once.py").open("a") as file:
        file.write("# another letter\n")
    digest_of_class.cache_clear()  # as in the next command's process
    check.check_own_classes(resolved.runs, resolved.settings, ["activation=mine"])
    assert len(tried) == 2
    (tmp_path / "stricter").mkdir()
    (tmp_path / "stricter" / "check.py").write_text("")
    monkeypatch.setattr(check, "CHECK", tmp_path / "stricter")
    check._digest_of_check.cache_clear()
    check.check_own_classes(resolved.runs, resolved.settings, ["activation=mine"])
    check._digest_of_check.cache_clear()
    assert len(tried) == 3


def test_an_error_of_other_code_in_a_pack_with_a_diverging_run_is_no_fault_of_the_class(tmp_path, monkeypatch):
    def fails(kept, scaled):
        raise ArithmeticError("not finite")

    monkeypatch.setattr(packs, "_scaled", fails)
    result = found(tmp_path, "activation", Plain)
    assert not result.faults
    assert sum("ArithmeticError" in note for note in result.notes) == 3
