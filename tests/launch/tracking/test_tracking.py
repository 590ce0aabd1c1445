"""Runs in W&B: offline, live online, and when W&B fails, which never costs a record."""

import os

import pytest

from launch.command import resolve
from launch.commands.sync import catch_up, survey
from launch.packs import progress
from launch.tracking.client import Tracked, described
from launch.tracking.wandb import content
from launch.tracking.wandb.environment import decided
from launch.tracking.wandb.marks import Destination, written
from launch.tracking.wandb.naming import notes, run_name
from launch.tracking.wandb.writer import OpenRun, own_service
from launch.work import training
from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import CLASSIFIER, declared_in
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from plasticity_lab.waits import TRAINING, waiting
from tests.helpers.sweeps import after_looks, all_kept, runs_of, trained, wait_until
from tests.helpers.wandb_files import read_offline, rows_of

pytestmark = pytest.mark.sample(3)

OFFLINE = "tracking=wandb_offline"
ONLINE = "tracking=wandb_online"


def plain(rows):
    return [{key: value for key, value in rows[at].items() if not key.startswith("_")} for at in sorted(rows)]


def same_as_its_record(store, run, sweep):
    """Whether an offline run holds all that the record knows."""
    record = read_record(store, run.id)
    assert (run.project, run.group, run.ended) == ("plasticity_lab", sweep, True)
    assert (run.name, run.tags) == (run_name(record), set(content.tags(record)))
    assert run.rows == rows_of(store, run.id)
    assert run.axes == content.axes(declared_in(record))
    names = {name.rpartition("/")[2] for row in run.rows.values() for name in row}
    assert len(names) == len({name for row in run.rows.values() for name in row}), "no column twice"
    assert (run.job_type, run.notes) == ("train", notes(record))
    assert set(run.rows) == {row["global_step"] for row in run.rows.values()}
    began = {time - run.seconds[step] for step, time in run.times.items()}
    assert max(began, default=0.0) - min(began, default=0.0) < 1e-3
    speed = content.speed(record, max(run.rows, default=0))
    assert run.summary.items() >= (content.summary(record) | content.duration(record) | speed).items()
    assert run.config.items() >= {**record["science"], "provenance": record["provenance"]}.items()
    return True


def test_every_run_of_a_pack_becomes_an_offline_run_with_all_its_rows(store, monkeypatch, undisturbed, caplog):
    """Also a diverged one and one that failed, and if wandb's variable names the service of another process."""
    really = training.assembled

    def assembled(runs, *rest, **more):
        if runs[0].science["activation"]["name"] == "tanh":
            raise ZeroDivisionError("by zero")
        return really(runs, *rest, **more)

    monkeypatch.setattr(training, "assembled", assembled)
    monkeypatch.setenv("WANDB_SERVICE", f"3-{os.getpid()}-unix-/nowhere")
    words = ("optimizer.lr=0.001,1e30", "seed=0,1", "launch.workers=1")
    plan = trained(store, *words, "activation=relu,tanh", OFFLINE)
    found = {run.id: run for run in read_offline(store.wandb_folder)}
    assert found.keys() == set(plan.asked)
    failed = [run for run in found.values() if run.summary["status"] == "failed"]
    ended = [run for run in found.values() if run not in failed]
    assert {run.summary["status"] for run in ended} == {"done", "diverged"}
    assert all(same_as_its_record(store, run, plan.sweep) for run in ended)
    assert ({run.exit_code for run in ended}, {run.exit_code for run in failed}) == ({0}, {1})
    assert {run.summary["error"] for run in failed} == {"ZeroDivisionError: by zero"}
    assert all({"failed", "tanh"} <= run.tags for run in failed)
    assert {len(list(folder.iterdir())) for folder in store.wandb_folder.iterdir()} == {1}, "no file besides"
    assert warnings_of(caplog) == []
    assert all_kept(store, runs_of(*words)) == undisturbed(*words)
    assert runs_of("seed=0") == runs_of("seed=0", OFFLINE, "tracking.project=other", "tracking.entity=me")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("agent=experience_replay", "benchmark=split_digits"),
        ("agent=ppo", "benchmark=classic_cycle"),
        ("agent=dqn", "benchmark=catch", "benchmark.environment_steps=1500"),
    ],
)
def test_an_offline_run_of_any_agent_holds_its_rows_over_one_axis(store, words):
    plan = trained(store, *words, OFFLINE, "diagnostics=cheap", "launch.workers=1")
    (run,) = read_offline(store.wandb_folder)
    assert same_as_its_record(store, run, plan.sweep)
    assert {name.partition("/")[0] for name in run.rows[max(run.rows)]} >= {"epoch", "task", "global_step"}


def test_runs_of_a_small_pack_are_live_and_those_of_a_large_one_follow(store, server, monkeypatch):
    monkeypatch.setattr(training, "TRACKING_SECONDS", 0.0)
    seen = []
    really = Tracked.end

    def end(self, runs, recorded):
        seen.append(list(self._live))
        really(self, runs, recorded)

    monkeypatch.setattr(Tracked, "end", end)
    words = ("activation=relu,leaky_relu", ONLINE, "tracking.live_runs=2", "tracking.project=mine", "launch.workers=1")
    plan = trained(store, *words, "seed=0,1")
    assert sorted(map(len, seen)) == [2, 2]
    plan_of_three = trained(store, *words, "seed=2,3,4", "activation=relu")
    assert seen[2] == [], "wider than live_runs"
    assert server.runs.keys() == {*plan.asked, *plan_of_three.asked}
    for run, told in server.runs.items():
        record = read_record(store, run)
        assert (told.project, told.exit_code) == ("mine", 0)
        assert told.group == (plan if run in plan.asked else plan_of_three).sweep
        assert told.name == run_name(record)
        assert plain(told.rows) == list(rows_of(store, run).values())
        assert told.summary.items() >= content.summary(record).items()
        assert told.config["provenance"] == record["provenance"]
        assert set(told.tags) == set(content.tags(record))
        assert run in written(store, record["provenance"]["pack"], Destination(True, "", "mine"))


def test_a_state_is_in_the_summary_of_an_open_run(server, tmp_path):
    (run,) = runs_of("seed=0")
    told = described(run, CLASSIFIER)
    with own_service():
        opened = OpenRun(told, Destination(True, "", "mine"), tmp_path, "sweep")
        opened.show_state("compiling")
        opened._run.finish()
        assert server.runs[run.id].summary["state"] == "compiling"
        again = OpenRun(told, Destination(True, "", "mine"), tmp_path, "sweep")
        again.show_state("training")
        again.leave()
    assert "state" not in server.runs[run.id].summary


def test_a_live_run_that_is_stopped_and_resumed_is_one_run(store, server, monkeypatch):
    monkeypatch.setattr(training, "TRACKING_SECONDS", 0.0)
    plan = trained(store, "seed=0", ONLINE, stop=after_looks(4))
    (run,) = plan.asked
    assert server.runs[run].exit_code == 1, "no longer training"
    told = len(server.runs[run].rows)
    assert 0 < told < 3
    trained(store, "seed=0", ONLINE)
    assert plain(server.runs[run].rows) == list(rows_of(store, run).values())
    assert (server.runs.keys(), server.runs[run].exit_code) == ({run}, 0)


def warnings_of(caplog):
    return [record.message for record in caplog.records if record.message.startswith("W&B")]


@pytest.mark.parametrize("fault", ["raise OSError(28)", "os._exit(3)"])
def test_whatever_wandb_does_the_records_are_there(store, tmp_path, monkeypatch, caplog, fault):
    (tmp_path / "wandb").mkdir()
    (tmp_path / "wandb" / "__init__.py").write_text(f"import os, sys\n{fault}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    plan = trained(store, "activation=relu,leaky_relu", OFFLINE, "launch.workers=1")
    assert {read_record(store, run)["status"] for run in plan.asked} == {"done"}
    (line,) = warnings_of(caplog)
    assert line.endswith("Training goes on; `python -m launch sync` writes the missing runs.")


def test_a_service_that_dies_loses_no_run_and_the_next_gets_another(store, tmp_path, monkeypatch, caplog):
    """W&B's service is killed while it writes the second run of a pack."""
    killer = tmp_path / "sitecustomize.py"
    killer.write_text(KILLS_THE_SERVICE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.getcwd()]))
    plan = trained(store, "seed=0,1,2", OFFLINE, "launch.workers=1")
    assert all(read_record(store, run)["status"] == "done" for run in plan.asked)
    assert len(warnings_of(caplog)) == 1
    found = read_offline(store.wandb_folder)
    assert [run.id for run in found] == [plan.packs[0].runs[2]], "the service that was killed had the first two"
    assert all(same_as_its_record(store, run, plan.sweep) for run in found)


KILLS_THE_SERVICE = """
import contextlib, os, signal, sys
if "launch.tracking.companion" in " ".join(sys.orig_argv):
    from pathlib import Path
    from launch.tracking.wandb import writer
    runs = []
    class Killing(writer.OpenRun):
        def complete(self, record, *more):
            runs.append(record["run"])
            if len(runs) == 2:
                for status in Path("/proc").glob("[0-9]*/status"):
                    with contextlib.suppress(OSError):
                        if f"PPid:\\t{os.getpid()}\\n" in status.read_text():
                            os.kill(int(status.parent.name), signal.SIGKILL)
            super().complete(record, *more)
    writer.OpenRun = Killing
"""


def test_no_run_counts_as_written_on_a_full_disk(small_disk):
    """W&B itself reports no error."""
    store = Store(small_disk / "store")
    plan = trained(store, "seed=0")
    found = survey(store, False, None, None)
    free, filler = os.statvfs(small_disk), small_disk / "filler"
    filler.write_bytes(bytes(free.f_bavail * free.f_frsize - 20_000))
    with pytest.raises(StoreError, match="the disk is full"):
        catch_up(store, found, lambda done: None)
    again = survey(store, False, None, None).missing
    assert again == found.missing == {Destination(False, "", "plasticity_lab"): list(plan.asked)}
    filler.unlink()
    assert catch_up(store, found, lambda done: None) == {}
    assert [run.id for run in read_offline(store.wandb_folder)] == list(plan.asked)


def test_auto_is_online_with_a_key_and_the_store_alone_without(monkeypatch):
    chosen = resolve([]).settings.tracking
    assert chosen.backend == "auto"
    settings, said = decided(chosen)
    assert (settings.backend, said) == ("store", "tracking: the store alone, since no W&B key is configured.")
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    settings, said = decided(chosen)
    assert (settings.backend, said) == ("wandb_online", "tracking: W&B project plasticity_lab.")
    assert decided(resolve(["tracking=store"]).settings.tracking)[1] == ""


def test_a_live_run_shows_what_its_worker_does_until_it_ends(store, server, monkeypatch):
    """A run that is complete has the summary of its record alone."""
    monkeypatch.setattr(progress, "FROM_SECONDS", 0.0)
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.01)
    train, say, said = training.train, Tracked._say, []

    def say_and_note(self, order, *content):
        say(self, order, *content)
        said.append((order, *content))

    def train_after_compiling(*given):
        with waiting("compiling", "graphs"):
            wait_until(lambda: ("state", "compiling") in said)
        wait_until(lambda: said[-1] == ("state", TRAINING))
        train(*given)

    monkeypatch.setattr(Tracked, "_say", say_and_note)
    monkeypatch.setattr(training, "train", train_after_compiling)
    (run,) = trained(store, "seed=0", ONLINE).asked
    assert said[1][0] == "state", "once it is open"
    assert "state" not in server.runs[run].summary
    assert server.runs[run].summary.items() >= content.summary(read_record(store, run)).items()
