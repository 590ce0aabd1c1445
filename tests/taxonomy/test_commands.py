"""`python -m plasticity_lab.taxonomy`: what is committed is what the activations give, and any of them can be drawn."""

import json
from pathlib import Path

import pytest

from launch.runs.files import CONF
from plasticity_lab.taxonomy.__main__ import DERIVED, by_words, defaults, main, published

pytestmark = pytest.mark.sample(14)


def alike(one, other):
    """Whether two JSON values are the same but for the last digits of their numbers."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-5, abs=2e-6)
    return one == other


def test_what_is_committed_is_what_the_activations_give(tmp_path, capsys):
    assert main(["derive", "--out", str(tmp_path)]) == 0
    assert str(tmp_path) in capsys.readouterr().out
    for name in ("activations.json", "curves.json"):
        committed, anew = (json.loads((folder / name).read_text()) for folder in (DERIVED, tmp_path))
        assert alike(committed, anew), f"{name} is old: python -m plasticity_lab.taxonomy derive"


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "activation").glob("*.yaml")))
def test_any_activation_has_a_curve(name, capsys):
    assert main(["curves", f"activation={name}", "--between", "-2", "2"]) == 0
    (curve,) = json.loads(capsys.readouterr().out)["curves"]
    assert (curve["x"][0], curve["x"][-1]) == (-2, 2)
    assert {len(each) for each in [curve["x"], *curve["value"], *curve["slope"]]} == {len(curve["x"])}
    assert (curve["value_ends"] is not None) == (name in ("rrelu", "rselu", "rand_smooth_leaky", "aid"))


def test_facts_of_any_settings(capsys):
    assert main(["facts", "activation=elu", "activation.alpha=1,3.9"]) == 0
    plain, steep = json.loads(capsys.readouterr().out)["shapes"]
    assert (plain["marks"]["C1"], steep["marks"]["C1"]) == (True, False)
    assert (plain["kink"], steep["kink"]) == pytest.approx((0, 2.9))


def test_an_activation_of_ones_own_is_found_in_its_folder(tmp_path, capsys):
    (tmp_path / "activation").mkdir()
    target = "plasticity_lab.activations.leaky_relu.LeakyReLU"
    (tmp_path / "activation/mine.yaml").write_text(f"_target_: {target}\nnegative_slope: 0.2\n")
    (tmp_path / "activation/broken.yaml").write_text("a: [1")
    (tmp_path / "activation/empty.yaml").write_text("negative_slope: 1\n")
    assert main(["facts", "activation=mine", "--config-dir", str(tmp_path)]) == 0
    (mine,) = json.loads(capsys.readouterr().out)["shapes"]
    assert mine["floor"] == 0.2
    for name, said in (("broken", "broken.yaml"), ("empty", "_target_"), ("other", "mine")):
        assert main(["curves", f"activation={name}", "--config-dir", str(tmp_path)]) == 1
        err = capsys.readouterr().err
        assert said in err
        assert len(err.splitlines()) == 1


def test_every_value_goes_with_every_other():
    found = by_words(["activation=swish,gelu", "activation.beta=0.5,1e-3"])
    assert [(run.name("activation"), run.settings("activation")["beta"]) for run in found] == [
        ("swish", 0.5), ("swish", 0.001), ("gelu", 0.5), ("gelu", 0.001),
    ]  # fmt: skip
    assert found[2].settings("activation")["form"] == "scale_input", "what is not said is as in conf/activation/"


def test_a_file_is_written_where_it_is_asked_for(tmp_path, capsys):
    file = tmp_path / "some/elu.json"
    assert main(["curves", "activation=elu", "activation.alpha=3.6", "--out", str(file)]) == 0
    (curve,) = json.loads(file.read_text())["curves"]
    assert curve["settings"] == {"alpha": 3.6}
    assert str(Path(file)) in capsys.readouterr().out
    jump = [slope for x, slope in zip(curve["x"], curve["slope"][0], strict=True) if abs(x) < 1e-6]
    assert jump == pytest.approx([3.6, 1.0]), "the kink is upright"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("activation=swis", "there are bo_prelu"),
        ("activation=../activation/swish", "there are bo_prelu"),
        ("activation=swish activation.alpha=1", "its settings are beta"),
        ("activation=swish activation.beta=x", "activation.beta is 'x'"),
        ("activation=swish activation.beta=-1", "at least 0"),
        ("activation=swish activation.beta=[1", "activation.beta"),
        ("activation=swish activation.beta=1 activation.beta=2", "given twice"),
        ("activation.beta=1", "No activation is named"),
        ("activation=swish beta=3", "'beta=3'"),
        ("swish", "'swish'"),
        ("activation=bo_prelu activation.alpha_init=2", "strictly between"),
        ("activation=relu --between 3 2", "--between"),
        ("activation=relu --between 0 inf", "--between"),
    ],
)
def test_a_mistake_is_one_sentence(words, said, tmp_path, capsys):
    assert main(["curves", *words.split(), "--out", str(tmp_path / "x.json")]) == 1
    out, err = capsys.readouterr()
    assert said in err
    assert (len(err.splitlines()), out) == (1, "")
    assert not list(tmp_path.iterdir())


def test_the_papers_settings_are_those_of_its_tables():
    uses = dict(published())
    assert len(published()) == 22 + 95 + 17
    assert uses["Table F1, mujoco_cycle"].name("activation") in defaults()
    assert {run.name("activation") for use, run in published() if use.startswith("Table G4")} == {"rselu", "bo_prelu"}
