"""A hypothesis fixed before training: what is registered, refused, sealed and read."""

import json
from dataclasses import replace

import pytest

from analysis.__main__ import main
from analysis.compare.preregistered.registration import read
from plasticity_lab.records.store import Store
from tests.analysis.compare.preregistered.study import FIX, STUDY, fixed, fixed_anew, read_again
from tests.helpers.sweeps import planned, trained

pytestmark = pytest.mark.sample(2)


def test_it_is_open_until_all_runs_have_ended_and_then_kept(tmp_path, capsys):
    store = Store(tmp_path / "store")
    planned(store, *STUDY)
    assert fixed(store) == 0
    assert "none, l2_init against none, 3 seeds, 6 runs, taoa by Welch's test" in capsys.readouterr().out
    main(["preregister", "--store", str(store.root)])
    assert "open, 0 of 6 runs have ended" in capsys.readouterr().out
    trained(store, *STUDY)
    assert read_again(store, capsys)[0] == "kept."


def test_the_table_reads_the_test_that_was_fixed(study, capsys):
    _, said = read_again(study, capsys)
    assert "Hypothesis: L2-Init is better than none." in said
    assert "Against none, by the paired t-test after Holm's correction, as fixed:" in said
    assert (study.root / "tables/preregistered_l2_helps/compare_intervention.csv").is_file()
    main(["compare", "--no-figure", "--store", str(study.root)])
    assert "6 of these runs are preregistered; --preregistered l2_helps" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "part",
    ['"arms": 3', '"runs": []', '"registered": "yesterday"', '"arms": ["none"]', '"surprise": 1'],
)
def test_a_file_that_holds_no_registration_is_a_sentence_and_ordinary_tables_go_on(store, capsys, part):
    path = store.registration("l2_helps")
    content = {**json.loads(path.read_text()), **json.loads(f"{{{part}}}")}
    path.write_text(json.dumps(content))
    assert main(["compare", "--preregistered", "l2_helps", "--store", str(store.root)]) == 1
    said = capsys.readouterr().err
    assert str(path) in said
    assert said.count("\n") == 1
    assert main(["compare", "--no-figure", "--store", str(store.root)]) == 0
    assert "was changed" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["preregister", "l2_helps", *FIX], ["6 of the 6 runs have ended", "before its runs are trained"]),
        (["preregister", "A b", *FIX], ["6 of the 6 runs have ended"]),
        (["preregister", "other", "--metric", "taoa"], ["--hypothesis"]),
        (["preregister", "other", *FIX, "--against", "ewc"], ["ewc", "none, l2_init"]),
        (["compare", "--preregistered", "l1_helps"], ["l1_helps", "l2_helps"]),
        (["compare", "--preregistered", "l2_helps", "--metric", "final_accuracy"], ["--metric", "leave it out"]),
    ],
)
def test_a_mistake_is_answered_in_a_sentence(study, capsys, words, parts):
    assert main([*words, "--store", str(study.root)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    for part in parts:
        assert part in said


@pytest.mark.parametrize(
    ("plan", "words", "parts"),
    [
        (("intervention=none,l2_init",), ["--metric", "tao"], ["tao", "taoa"]),
        (
            ("intervention=none,l2_init", "optimizer.lr=0.001,0.01"),
            ["--by", "intervention"],
            ["2 comparisons", "--where"],
        ),
        (("activation=relu,crelu",), [], ["--against", "relu, crelu"]),
        (("intervention=none",), [], ["nothing but their seeds"]),
    ],
)
def test_plans_that_decide_nothing_are_refused(tmp_path, capsys, plan, words, parts):
    store = Store(tmp_path / "store")
    planned(store, "benchmark=permuted_digits", "seed=0,1", *plan)
    assert fixed(store, *words) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    for part in parts:
        assert part in said


def test_a_metric_is_looked_up_in_what_the_agents_declare(tmp_path, capsys):
    store = Store(tmp_path / "store")
    planned(store, "benchmark=catch", "agent=dqn,rainbow_lite", "seed=0,1")
    assert fixed(store, "--against", "dqn") == 1
    assert "'taoa'" in (said := capsys.readouterr().err)
    assert "final_return" in said
    assert fixed(store, "--against", "dqn", "--metric", "final_return") == 0
    assert capsys.readouterr().err == ""


def test_a_trial_that_takes_no_part_may_lie_beside_it(tmp_path, capsys):
    store = Store(tmp_path / "store")
    trained(store, *STUDY[:2], "seed=7,8")
    planned(store, *STUDY)
    assert fixed(store, "--where", "seed=0,1,2") == 0
    trained(store, *STUDY)
    assert read_again(store, capsys)[0] == "kept."
    trained(store, *STUDY[:2], "seed=9")
    assert "seeds were added (none: 9; l2_init: 9)" in read_again(store, capsys)[0]


def test_a_name_is_taken_once(tmp_path, capsys):
    store = Store(tmp_path / "store")
    planned(store, *STUDY)
    assert fixed(store) == 0
    before = store.registration("l2_helps").read_bytes()
    assert fixed(store, "--test", "paired") == 1
    assert "stays as it is" in capsys.readouterr().err
    assert store.registration("l2_helps").read_bytes() == before


def test_a_seal_is_checked(study, store, capsys):
    capsys.readouterr()
    assert main(["preregister", "l2_helps", "--seal", "--store", str(study.root)]) == 0
    seal = capsys.readouterr().out.strip()
    asked = ["compare", "--preregistered", "l2_helps", "--no-figure", "--store", str(store.root), "--seal", seal]
    assert main(asked) == 0
    assert "6 runs: kept." in " ".join(capsys.readouterr().out.split())
    fixed_anew(store)
    store.first_reading("l2_helps").unlink()
    assert main(asked) == 0
    assert "not the one that was sealed" in " ".join(capsys.readouterr().out.split())
    assert main(["compare", "--no-figure", "--store", str(store.root), "--seal", seal]) == 1
    assert main([*asked[:-1], seal[:3]]) == 1
    assert "its first 12 digits" in capsys.readouterr().err


def test_runs_of_other_code_are_counted(study, store, capsys):
    assert "other code" not in read_again(study, capsys)[1]
    path = store.registration("l2_helps")
    registration = replace(read(store, "l2_helps").registration, code="0" * 12)
    path.write_text(json.dumps({**registration.as_json(), "hash": registration.hash}))
    assert "6 of the runs were trained by other code than the registered one" in read_again(store, capsys)[1]


def test_two_registrations_of_the_same_runs_name_each_other(tmp_path, capsys):
    store = Store(tmp_path / "store")
    planned(store, *STUDY)
    assert fixed(store) == 0
    assert main(["preregister", "again", *FIX, "--test", "paired", "--store", str(store.root)]) == 0
    assert "6 of its runs are registered as l2_helps too" in capsys.readouterr().out
    trained(store, *STUDY)
    assert "6 of its runs are registered as again too" in read_again(store, capsys)[1]


def test_one_seed_decides_nothing(tmp_path, capsys):
    store = Store(tmp_path / "store")
    planned(store, *STUDY[:2], "seed=0")
    assert fixed(store) == 1
    assert "two seeds or more" in capsys.readouterr().err


def test_a_verdict_over_diverged_runs_says_so(tmp_path, capsys):
    store = Store(tmp_path / "store")
    words = ("benchmark=permuted_digits", "optimizer=sgd", "optimizer.lr=0.1,1e30", "seed=0,1")
    planned(store, *words)
    assert fixed(store, "--by", "optimizer.lr", "--against", "0.1") == 0
    trained(store, *words)
    assert "over diverged runs too (of 2 runs of 1e+30 2 diverged)" in read_again(store, capsys)[1]
