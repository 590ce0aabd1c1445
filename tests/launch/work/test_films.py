"""Films: the same for any pack and after a kill, and no number of a run depends on them."""

import io
import sys
import tarfile
from ctypes.util import find_library

import numpy as np
import pytest
from PIL import Image

from launch.__main__ import main
from launch.command import run_command
from launch.work import training
from plasticity_lab.environments.mujoco.drawing import HEIGHT, WIDTH
from plasticity_lab.environments.mujoco.simulation import RULES, MuJoCoBody
from plasticity_lab.records.film import COLOURS, gif
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.agents.value.packs import SMALL
from tests.helpers.sweeps import after_looks, all_kept, never, planned, runs_of, trained, work
from tests.helpers.wandb_files import read_offline

WORDS = (*SMALL, "seed=0,1", "launch.workers=1")
FILMED = (*WORDS, "save_video=last")


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("films") / "store")
    (pack,) = trained(store, *FILMED).packs
    assert len(pack.runs) == 2
    return store


def films(store):
    return {run.id: store.film(run.id).read_bytes() for run in runs_of(*WORDS)}


def test_no_number_depends_on_a_film_and_it_is_in_no_id(filmed, tmp_path):
    store = Store(tmp_path / "store")
    trained(store, *WORDS)
    assert all_kept(store, runs_of(*WORDS)) == all_kept(filmed, runs_of(*FILMED))
    one, other = films(filmed).values()
    assert one != other
    pictures = [Image.open(io.BytesIO(film)) for film in (one, other)]
    # Two balls of nine steps are 19 boards of 10 × 5 cells.
    assert [(picture.size, picture.n_frames) for picture in pictures] == [((160, 320), 19)] * 2
    for run in runs_of(*WORDS):
        assert read_record(filmed, run.id)["files"]["film.gif"]["bytes"] == len(films(filmed)[run.id])
        assert not store.film(run.id).exists()


@pytest.mark.slow
def test_alone_and_killed_after_the_last_task_a_run_has_the_same_film(filmed, tmp_path, monkeypatch):
    alone, killed = Store(tmp_path / "alone"), Store(tmp_path / "killed")
    for seed in ("seed=0", "seed=1"):
        trained(alone, *FILMED, seed)
        (run,) = runs_of(*FILMED, seed)
        assert alone.film(run.id).read_bytes() == films(filmed)[run.id]
    trained(alone, *WORDS, "seed=1", "rerun=true")
    assert not alone.film(run.id).exists(), "it would be of another training"

    class Killed(BaseException):
        pass

    def kill(*args):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(training, "leave_records", kill)
        with pytest.raises(Killed):
            trained(killed, *FILMED, "checkpoint_minutes=0.0001")
    plan = planned(killed, *FILMED)
    for lease in killed.leases_folder.iterdir():
        lease.unlink()
    work(killed, plan.sweep, "cpu", after_looks(1))
    work(killed, plan.sweep, "cpu", never)
    assert films(killed) == films(filmed)


@pytest.mark.slow
def test_a_machine_that_cannot_draw_says_so_and_the_run_is_recorded(tmp_path, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "mujoco.egl", None)  # as if it were not installed
    store = Store(tmp_path / "store")
    words = ("agent=ppo", "benchmark=mujoco_cycle", "benchmark.bodies=[hopper]", "seed=0", "save_video=last")
    trained(store, *words)
    (run,) = runs_of(*words)
    assert read_record(store, run.id)["status"] == "done"
    assert not store.film(run.id).exists()
    assert [each.getMessage() for each in caplog.records if "EGL" in each.getMessage()]


@pytest.mark.skipif(find_library("EGL") is None, reason="no EGL")
def test_a_body_is_drawn_and_stays_where_it_is():
    bodies = MuJoCoBody(RULES["hopper"], 2)
    bodies.start(np.arange(2), [np.random.default_rng(seed) for seed in range(2)])
    before = bodies.state()["physics"]
    pictures = bodies.pictures()
    assert (bodies.state()["physics"] == before).all()
    assert pictures.shape == (2, 3, HEIGHT, WIDTH)
    assert pictures.std() > 10, "more than one colour"
    bodies.step(np.ones((2, 3)))
    assert (bodies.pictures() != pictures).any()


def test_an_archive_has_it(filmed, tmp_path):
    assert main(["export", str(tmp_path / "all.tar"), "--store", str(filmed.root)]) == 0
    with tarfile.open(tmp_path / "all.tar") as archive:
        assert sum(name.endswith("/film.gif") for name in archive.getnames()) == 2


def test_what_shows_no_pictures_is_said(tmp_path, capsys):
    run_command(["save_video=last", "dry_run=true", "schedule=smoke", f"store={tmp_path}"])
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "save_video" in line]
    assert "permuted_digits" in line


def test_the_first_channel_with_an_object_is_shown():
    board = np.zeros((1, 3, 10, 10), np.uint8)
    board[0, [1, 2], 0, 0], board[0, 2, 9, 9] = 255, 255
    picture = Image.open(io.BytesIO(gif(board))).convert("RGB")
    shown = [picture.getpixel(at) for at in ((0, 0), (159, 159), (80, 80))]
    wanted = [COLOURS[2], COLOURS[3], COLOURS[0]]
    assert shown == [tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5)) for colour in wanted]


@pytest.mark.slow
def test_an_offline_run_of_wandb_has_it(tmp_path):
    store = Store(tmp_path / "store")
    trained(store, *FILMED, "seed=1", "tracking=wandb_offline")
    (found,) = read_offline(store.wandb_folder)
    film = found.summary["film"]
    assert film["_type"] == "video-file"
    (kept,) = store.wandb_folder.glob(f"*/files/{film['path']}")
    assert kept.read_bytes() == store.film(found.id).read_bytes()
