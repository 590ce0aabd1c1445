"""A hypothesis fixed before training: kept where all stayed as it was, and broken by each thing that was changed."""

import json
import shutil
from dataclasses import asdict, replace

import pytest

from analysis import load
from analysis.__main__ import main
from analysis.compare.preregistered.registration import read
from launch.__main__ import main as launch
from plasticity_lab.records.first_readings import first_readings
from plasticity_lab.records.record import read_record, write_record
from plasticity_lab.records.record_facts import DIGEST, TRAINED_BEFORE, digest_of
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import planned, trained

pytestmark = pytest.mark.sample(2)

STUDY = ("benchmark=permuted_digits", "intervention=none,l2_init", "seed=0,1,2")
FIX = ["--hypothesis", "L2-Init is better than none", "--metric", "taoa"]


def fixed(store, *words):
    return main(["preregister", "l2_helps", *FIX, *words, "--store", str(store.root)])


def read_again(store, capsys):
    """What a comparison as it was fixed says of it: the word, and the whole sentence."""
    assert main(["compare", "--preregistered", "l2_helps", "--no-figure", "--store", str(store.root)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    sentence = said[said.index("Preregistered as") : said.index("Hypothesis:")]
    return sentence.partition(" runs: ")[2].strip(), said


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Planned, fixed, trained."""
    store = Store(tmp_path_factory.mktemp("study") / "store")
    planned(store, *STUDY)
    assert fixed(store, "--test", "paired") == 0
    trained(store, *STUDY)
    return store


@pytest.fixture
def store(study, tmp_path):
    """A copy to be changed."""
    shutil.copytree(study.root, tmp_path / "store")
    return Store(tmp_path / "store")


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


def first_run(store):
    return min(read(store, "l2_helps").registration.runs)


def other_metric(store):
    path = store.registration("l2_helps")
    path.write_text(path.read_text().replace('"taoa"', '"final_accuracy"'))


def fixed_anew(store):
    """Another metric, with the hash that belongs to it."""
    registration = replace(read(store, "l2_helps").registration, metric="final_accuracy")
    content = {**asdict(registration), "hash": registration.hash}
    store.registration("l2_helps").write_text(json.dumps(content))


def fixed_after_training(store):
    registration = replace(read(store, "l2_helps").registration, registered="2999-01-01T00:00:00+00:00")
    content = {**asdict(registration), "hash": registration.hash}
    store.registration("l2_helps").write_text(json.dumps(content))


def better_number(store):
    record = read_record(store, first_run(store))
    record["summary"]["taoa"] = 0.99
    store.record(record["run"]).write_text(json.dumps(record))


def other_metrics(store):
    path = store.metrics(first_run(store))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def gone(store):
    store.record(first_run(store)).unlink()


def trained_again(store):
    record = read_record(store, first_run(store))
    start = record["provenance"]["start"]
    shutil.rmtree(store.root / "done")
    gone(store)
    trained(store, *STUDY)
    again = read_record(store, record["run"])
    if again["provenance"]["start"] == start:  # within one second
        again["provenance"]["start"] = "2998-01-01T00:00:00+00:00"
        write_record(store, again)


def more_seeds(store):
    trained(store, *STUDY[:2], "seed=3")


def more_arms(store):
    trained(store, STUDY[0], "intervention=snr", "seed=0,1,2")


@pytest.mark.walk(2)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (other_metric, "its file was changed"),
        (fixed_anew, "not the one of the first reading"),
        (fixed_after_training, "began before it was registered"),
        (better_number, "changed after they were recorded"),
        (other_metrics, "left files that were changed after they were written"),
        (gone, "are gone since the first reading"),
        (trained_again, "were changed or trained again since the first reading"),
        (more_seeds, "seeds were added (none: 3; l2_init: 3)"),
        (more_arms, "arms were added (snr)"),
    ],
)
def test_each_change_breaks_it(store, capsys, change, words):
    assert read_again(store, capsys)[0] == "kept."
    change(store)
    sentence, _ = read_again(store, capsys)
    assert sentence.startswith("broken: ")
    assert words in sentence


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


def test_a_number_changed_before_the_first_reading_breaks_it(store, capsys):
    store.first_reading("l2_helps").unlink(missing_ok=True)
    better_number(store)
    assert read_again(store, capsys)[0].startswith("broken: ")


def test_asking_for_its_runs_again_and_other_studies_beside_it_do_not(store, capsys):
    trained(store, *STUDY, "hyperparams=best")
    trained(store, "benchmark=random_label_digits", *STUDY[1:])
    capsys.readouterr()
    assert main(["preregister", "--store", str(store.root)]) == 0
    assert capsys.readouterr().out.strip().endswith(": kept")


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


def without_digest(store):
    record = read_record(store, first_run(store))
    del record[DIGEST]
    write_record(store, record)


def better_number_with_its_digest(store):
    record = read_record(store, first_run(store))
    record["summary"]["taoa"] = 0.99
    write_record(store, record | {DIGEST: digest_of(record)})


def under_another_name(store):
    record = read_record(store, first_run(store))
    record["asked_as"] = [{**name, "schedule": "demo"} for name in record["asked_as"]]
    write_record(store, record)
    shutil.rmtree(store.root / "sweeps")  # the plan has the names too


@pytest.mark.walk(2)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_digest, "have records without a digest"),
        (better_number_with_its_digest, "have summaries that do not follow from their metrics"),
        (gone, "have lost their records"),
    ],
)
def test_so_does_a_change_before_any_reading(tmp_path, study, capsys, change, words):
    unread = Store(tmp_path / "store")
    shutil.copytree(study.root, unread.root)
    for path in unread.registrations_folder.glob("*.first_reading*"):
        path.unlink()
    change(unread)
    sentence, _ = read_again(unread, capsys)
    assert sentence.startswith("broken: ")
    assert words in sentence


def test_a_run_that_its_filters_leave_out_breaks_it(tmp_path, capsys):
    store = Store(tmp_path / "store")
    planned(store, *STUDY)
    assert fixed(store, "--schedule", "smoke") == 0
    trained(store, *STUDY)
    under_another_name(store)
    assert "are left out by its filters" in read_again(store, capsys)[0]


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "reading",
    [
        lambda root: main(["table", "--store", str(root)]),
        lambda root: main(["compare", "--no-figure", "--store", str(root)]),
        lambda root: main(["report", "--store", str(root)]),
        lambda root: load(root) and 0,
        lambda root: launch(["export", f"{root}.tar", "--store", str(root)]),
    ],
    ids=["table", "compare", "report", "load", "export"],
)
def test_any_reading_is_the_first_one_and_a_run_that_is_trained_again_after_it_breaks_it(tmp_path, capsys, reading):
    store = Store(tmp_path / "store")
    planned(store, *STUDY[:2], "seed=0,1")
    assert fixed(store) == 0
    runs = read(store, "l2_helps").registration.runs
    reading(store.root)
    assert not first_readings(store, "l2_helps").digests
    trained(store, *STUDY[:2], "seed=0,1")
    reading(store.root)
    assert first_readings(store, "l2_helps").digests.keys() == runs.keys()
    assert read_again(store, capsys)[0] == "kept."
    trained(store, *STUDY[:2], "seed=0", "rerun=true")
    before = [len(read_record(store, run).get(TRAINED_BEFORE, ())) for run in runs]
    assert sorted(before) == [0, 0, 1, 1]
    sentence, _ = read_again(store, capsys)
    assert "were trained again after they had ended (up to 2 times, mode eager)" in sentence


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
