"""Each thing that was changed breaks a registration, and what changes no result does not."""

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
from tests.analysis.compare.preregistered.study import STUDY, first_run, fixed, fixed_anew, gone, read_again
from tests.helpers.sweeps import planned, trained

pytestmark = pytest.mark.sample(2)


def other_metric(store):
    path = store.registration("l2_helps")
    path.write_text(path.read_text().replace('"taoa"', '"final_accuracy"'))


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


def without_digest(store):
    record = read_record(store, first_run(store))
    del record[DIGEST]
    write_record(store, record)


def better_number_with_its_digest(store):
    record = read_record(store, first_run(store))
    record["summary"]["taoa"] = 0.99
    write_record(store, record | {DIGEST: digest_of(record)})


def no_number(store):
    record = read_record(store, first_run(store))
    record["summary"]["final_accuracy"] = "high"
    write_record(store, record)


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
        (no_number, "have summaries that do not follow from their metrics"),
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


def test_a_number_changed_before_the_first_reading_breaks_it(store, capsys):
    store.first_reading("l2_helps").unlink(missing_ok=True)
    better_number(store)
    assert read_again(store, capsys)[0].startswith("broken: ")


def test_a_run_that_its_filters_leave_out_breaks_it(tmp_path, capsys):
    store = Store(tmp_path / "store")
    planned(store, *STUDY)
    assert fixed(store, "--schedule", "smoke") == 0
    trained(store, *STUDY)
    under_another_name(store)
    assert "are left out by its filters" in read_again(store, capsys)[0]


def test_asking_for_its_runs_again_and_other_studies_beside_it_do_not(store, capsys):
    trained(store, *STUDY, "hyperparams=best")
    trained(store, "benchmark=random_label_digits", *STUDY[1:])
    capsys.readouterr()
    assert main(["preregister", "--store", str(store.root)]) == 0
    assert capsys.readouterr().out.strip().endswith(": kept")


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
