"""Which jobs are a sweep's own, among what squeue and sacct print of others that resemble them."""

import shutil

import pytest

from launch.launchers.slurm.own_jobs import mark_in, mark_of, own_jobs, script_folder, states_of_sweeps
from launch.packs.submissions import submissions_of
from plasticity_lab.records.store import Store
from tests.helpers.slurm_files import given_to_slurm, in_accounting, in_queue
from tests.helpers.stand_ins import put_on_path, tells

SWEEP = "1a2b3c4d5e6f"
RUNS = "60_0|RUNNING|None|n1"
ODD_NAMES = (
    "store",
    "a store",
    "store\nof two lines",
    "störe 数据",
    'it\'s|"100%"',
    "back\\slash",
    "store plasticity_lab x",
    "数" * 80,
)


@pytest.fixture(params=ODD_NAMES)
def odd_store(request, tmp_path):
    return Store(tmp_path / request.param)


@pytest.fixture
def asked(store):
    (asked,) = given_to_slurm(store, SWEEP, {"60": 2})
    return asked


@pytest.fixture
def counted(store, tmp_path, monkeypatch):
    """From rows of squeue to the names of the jobs that are taken for the sweep's, in a store as it stands."""

    def counted(*rows, of=store):
        put_on_path(monkeypatch, tmp_path / "bin", squeue=tells(*rows))
        return [job.name for job in own_jobs(of, {SWEEP: submissions_of(of, SWEEP, [])})[SWEEP]]

    return counted


def test_a_mark_is_read_as_it_was_written(odd_store):
    mark = mark_of(odd_store, SWEEP, "feed")
    assert len(mark.split()) == 5
    assert len(mark) < 600
    for name in ODD_NAMES:
        other = Store(odd_store.root.parent / name)
        read = (SWEEP, "feed") if other == odd_store else None
        assert mark_in(mark, other) == mark_in(f"two words\nand {mark}", other) == read


def test_what_is_no_mark_or_no_script():
    store = Store("/a")
    for comment in (
        "",
        "(null)",
        "plasticity_lab",
        f"plasticity_lab {SWEEP} feed",
        f"xplasticity_lab {SWEEP} feed store /a",
    ):
        assert mark_in(comment, store) is None
    for path in ("a", "/a more", "/a\nmore", "/a,", "/ab", "/", "%00", "/a%00", "/a%20copy"):
        assert mark_in(f"plasticity_lab {SWEEP} feed store {path}", store) is None
    for command in ("", "(null)", "bash", "/a/b.sh c", "/a/b.sh c.sh", "/a/b.sh\nc.sh", "/a/b.py", "/a/.sh/"):
        assert script_folder(command) is None


def test_a_store_with_any_name_finds_its_jobs(odd_store, counted):
    (asked,) = given_to_slurm(odd_store, SWEEP, {"60": 2}, comment="the user's\nown|")
    comment = f"the user's\nown| {mark_of(odd_store, SWEEP, asked.token)}"
    assert counted(*in_queue(odd_store, asked, RUNS, comment=comment), of=odd_store) == ["60_0"]


def test_jobs_that_resemble_workers_are_none(store, asked, counted):
    mark, script = mark_of(store, SWEEP, asked.token), f"{asked.folder}/.submission_file_0.sh"
    plan, token = store.plan(SWEEP), asked.token

    def resembling(**other):
        return in_queue(store, asked, RUNS, **other)

    forged = f"x\n60|60_0|RUNNING|None|n1|{asked.user}|{mark}|{script}\nx"
    others = [
        resembling(comment="", command=f"/home/ann/analyse.sh {plan}"),
        resembling(comment=f"{store.sweep_folder(SWEEP)}/"),
        resembling(comment=""),
        resembling(comment=mark, command=f"/home/ann/analyse.sh {script}"),
        resembling(comment=mark, command=f"{store.sweep_folder(SWEEP)}/jobs/analyse.sh"),
        resembling(comment=mark, command=f"{script} more"),
        resembling(comment=mark, command="(null)"),
        resembling(comment=f"{mark} more"),
        resembling(comment=f"{mark}\nmore"),
        resembling(comment=mark.replace(token, token[:-1])),
        resembling(comment=mark.replace(SWEEP, SWEEP[:-1])),
        resembling(comment=mark.replace(str(store.root), f"{store.root}%20copy")),
        resembling(comment=mark.replace(str(store.root), f"{store.root} copy")),
        resembling(comment=mark.replace(token, "feed"), command="/home/ann/feed/analyse.sh more"),
        resembling(user="ann"),
        resembling(comment=forged, command=forged),
    ]
    for other in others:
        assert counted(*other) == [], other
    assert counted(*(row for other in others for row in other), *resembling()) == ["60_0"]


def test_a_copy_of_a_store_has_no_jobs_and_another_path_to_it_has(store, asked, counted, tmp_path, monkeypatch):
    copy, link = Store(f"{store.root} copy"), Store(tmp_path / "link")
    shutil.copytree(store.root, copy.root)
    link.root.symlink_to(store.root)
    row = in_queue(store, asked, RUNS)
    assert counted(*row, of=copy) == []
    assert counted(*row, of=link) == ["60_0"]
    put_on_path(monkeypatch, tmp_path / "bin", squeue="", sacct=tells(*in_accounting(asked, "60_1|TIMEOUT|0:0|n1")))
    for of, jobs in {copy: [], link: ["60_1"], store: ["60_1"]}.items():
        found, _ = states_of_sweeps(of, {SWEEP: submissions_of(of, SWEEP, [])}, None, 20)
        assert list(found[SWEEP]) == jobs


def test_of_a_submission_that_the_store_has_lost_only_the_whole_mark_counts(store, asked, counted):
    shutil.rmtree(store.submissions_folder(SWEEP))
    assert counted(*in_queue(store, asked, RUNS)) == ["60_0"]
    assert counted(*in_queue(store, asked, RUNS, user="ann")) == []
    script = f"{asked.token}/.submission_file_0.sh"
    elsewhere = ("analyse.sh", script, f"store/sweeps/{SWEEP}/jobs/{script}")
    for command in (f"/home/ann/{name}" for name in elsewhere):
        assert counted(*in_queue(store, asked, RUNS, command=command)) == []
    assert counted(*in_queue(store, asked, RUNS, comment=f"{mark_of(store, SWEEP, asked.token)} more")) == []


def test_how_a_job_of_the_same_number_ended_is_not_told(store, asked, tmp_path, monkeypatch):
    """Of squeue and sacct what they say of a submission's own, and no row of either is more than they can say."""
    rows = in_accounting(asked, "60_0|FAILED|1:0|n1", line="sbatch analyse.sh\n60_0|FAILED")
    rows += in_accounting(asked, "60_1|TIMEOUT|0:0|n1", line=f"sbatch analyse.sh {asked.folder}/.submission_file_0.sh")
    rows += in_accounting(asked, "60_2|TIMEOUT|0:0|n1", user="ann")
    rows += in_accounting(asked, "60_3|TIMEOUT|0:0|n1", "60_3.0|None|None|", "60_4||None|", "60_5|INVALID||Unknown")
    put_on_path(monkeypatch, tmp_path / "bin", squeue="echo; echo 60", sacct=tells(*rows, "60_6", "", "slurm says no"))
    found, gap = states_of_sweeps(store, {SWEEP: [asked]}, None, 20)
    assert (list(found[SWEEP]), gap) == (["60_3"], "")
