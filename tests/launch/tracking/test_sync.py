"""`python -m launch sync`: what W&B lacks is written from the records, and nothing twice."""

import time

import pytest
import wandb
from wandb.sdk.lib.service.service_process import ServiceProcess

from launch.__main__ import main
from launch.tracking.wandb import content
from launch.tracking.wandb.marks import offline_folders
from plasticity_lab.records.record import read_record, write_record
from tests.helpers.sweeps import trained
from tests.helpers.wandb_files import read_offline, rows_of
from tests.helpers.wandb_server import serving

pytestmark = pytest.mark.sample(1)


def synced(store, *words):
    return main(["sync", "--store", str(store.root), *words])


def all_there(store, server, runs):
    assert server.runs.keys() == set(runs)
    for run, told in server.runs.items():
        values = [{key: row[key] for key in row if key[0] != "_"} for _, row in sorted(told.rows.items())]
        assert values == list(rows_of(store, run).values())
        assert told.summary.items() >= content.summary(read_record(store, run)).items()
        assert told.exit_code == 0
    return True


def test_offline_runs_are_uploaded_once_and_their_folders_cleared(store, server, capsys):
    plan = trained(store, "seed=0,1,2", "tracking=wandb_offline", "tracking.project=mine", "tracking.entity=us")
    assert len(offline_folders(store)) == 3
    assert synced(store) == 0
    assert capsys.readouterr().out == "3 runs written to W&B (us/mine); 0 there already.\n"
    assert all_there(store, server, plan.asked)
    assert {(told.project, told.group) for told in server.runs.values()} == {("mine", plan.sweep)}
    assert list(store.wandb_folder.iterdir()) == []
    server.runs.clear()
    assert synced(store) == 0
    assert capsys.readouterr().out == "0 runs written to W&B; 3 there already.\n"
    assert server.runs == {}


def test_one_run_that_w_and_b_refuses_does_not_keep_the_others_back(store, server, capsys):
    plan = trained(store, "seed=0,1,2")
    server.refuse = {plan.asked[1]}
    assert synced(store) == 1
    out, err = capsys.readouterr()
    assert out == "2 runs written to W&B (plasticity_lab); 0 there already.\n"
    assert err.startswith("Not written: 1 run: ")
    server.refuse = set()
    assert synced(store) == 0
    assert all_there(store, server, plan.asked)


def test_runs_go_to_the_server_of_this_moment_whatever_wandb_did_here_before(store, server, monkeypatch):
    """By itself it would keep the address that it has read first, and the service that it has started."""
    plan = trained(store, "seed=0")
    wandb.setup()
    with serving() as other:
        monkeypatch.setenv("WANDB_BASE_URL", other.address)
        assert synced(store) == 0
        assert all_there(store, other, plan.asked)
    assert server.runs == {}


def test_threads_that_open_runs_together_all_know_the_server(store, server, monkeypatch):
    """wandb reads its settings when the first run is opened; a thread that comes meanwhile would have half of them."""
    trained(store, "seed=0")
    assert synced(store) == 0  # the first time in a process, wandb happens to hold a lock
    trained(store, "seed=1,2,3")
    really = wandb.Settings.update_from_env_vars

    def slow(self, environment):
        time.sleep(0.3)
        really(self, environment)

    monkeypatch.setattr(wandb.Settings, "update_from_env_vars", slow)
    assert synced(store) == 0
    assert all_there(store, server, server.runs)
    assert len(server.runs) == 4


def test_no_run_counts_as_written_if_the_service_fails_at_its_end(store, monkeypatch, capsys):
    """wandb would leave this process with the service's exit status."""
    trained(store, "seed=0")
    really = ServiceProcess.join
    monkeypatch.setattr(ServiceProcess, "join", lambda self: really(self) or 2)
    assert synced(store, "--offline") == 1
    assert "W&B's service ended too early" in capsys.readouterr().err
    assert offline_folders(store) == {}
    monkeypatch.setattr(ServiceProcess, "join", really)
    assert synced(store, "--offline") == 0
    assert len(read_offline(store.wandb_folder)) == 1


def test_what_the_user_has_uploaded_with_wandb_sync_is_not_uploaded_again(store, server, capsys):
    trained(store, "seed=0,1", "tracking=wandb_offline")
    for folders in offline_folders(store).values():
        for folder in folders:
            (folder / f"{next(folder.glob('*.wandb')).name}.synced").touch()
    assert synced(store) == 0
    assert capsys.readouterr().out == "0 runs written to W&B; 2 there already.\n"
    assert server.runs == {}
    assert list(store.wandb_folder.iterdir()) == []


def test_a_record_that_cannot_be_read_is_named_and_passed_over(store, server, capsys):
    damaged, without_metrics, good = trained(store, "seed=0,1,2").asked
    store.record(damaged).write_text("{")
    store.metrics(without_metrics).write_text("PAR1")
    assert synced(store) == 1
    out, err = capsys.readouterr()
    assert out.startswith("1 run written")
    assert str(store.record(damaged)) in err
    assert str(store.metrics(without_metrics)) in err
    assert server.runs.keys() == {good}


def test_runs_that_were_never_tracked_are_written_from_their_records_and_again_if_trained_again(store, server, capsys):
    plan = trained(store, "seed=0,1")
    assert synced(store, "--dry-run") == 0
    assert capsys.readouterr().out == "2 runs to write, 0 there already.\n"
    assert synced(store, "--project", "paper") == 0
    assert all_there(store, server, plan.asked)
    assert {(told.project, told.group) for told in server.runs.values()} == {("paper", plan.sweep)}
    trained(store, "seed=0,1", "rerun=true")
    assert synced(store, "--project", "paper") == 0
    assert all_there(store, server, plan.asked)
    assert {told.config["provenance"]["attempt"] for told in server.runs.values()} == {1}


def test_a_run_written_from_its_record_shows_when_it_was_trained_and_for_how_long(store, server):
    """W&B by itself would show the second of its writing."""
    (run,) = trained(store, "seed=0").asked
    record = read_record(store, run)
    start, end, noon = "2026-01-31T11:00:00+00:00", "2026-01-31T12:00:00+00:00", 1769860800.0
    source = record["provenance"] | {"start": start, "end": end, "pack_seconds": 3000.0}
    write_record(store, record | {"provenance": source})
    assert synced(store, "--offline") == 0
    (offline,) = read_offline(store.wandb_folder)
    assert synced(store) == 0
    online = server.runs[run]
    told = [online.rows[at] for at in sorted(online.rows)]
    of_rows = [
        [[row[name] for row in told] for name in ("_timestamp", "_runtime", "_step")],
        [list(offline.times.values()), list(offline.seconds.values())],
    ]
    for summary, (times, seconds, *steps) in zip((online.summary, offline.summary), of_rows, strict=True):
        assert (times, seconds) == ([noon - 2000, noon - 1000, noon], [1000, 2000, 3000])
        assert steps in ([], [[90, 180, 270]])
        assert (summary["_runtime"], summary["_timestamp"], summary["_wandb"]) == (3000, noon, {"runtime": 3000})
        assert summary["SPS"] == pytest.approx(270 / 3000)
        assert summary["task/final_accuracy"] == rows_of(store, run)[270]["task/final_accuracy"], "left to us, too"
