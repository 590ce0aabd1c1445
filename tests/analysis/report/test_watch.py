"""`report --watch`: made again until no run waits."""

from types import SimpleNamespace

from analysis.__main__ import main
from analysis.report import command
from plasticity_lab.records.store import Store
from tests.helpers.curves import classified
from tests.helpers.stores import planned_records


def test_it_is_made_again_until_no_run_waits(tmp_path, record, monkeypatch, capsys):
    store = Store(tmp_path / "store")
    done, waiting = classified(store, record("relu"), [0.5, 0.6]), record("tanh")
    planned_records(store, [done, waiting], [waiting])
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 2:
            classified(store, waiting, [0.5, 0.4])

    monkeypatch.setattr(command, "time", SimpleNamespace(sleep=sleep))
    assert main(["report", "--store", str(store.root), "--watch", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert slept == [7, 7]
    assert ["runs wait" in line for line in lines] == [True, True, False]


def test_too_often_is_a_sentence(tmp_path, capsys):
    assert main(["report", "--store", str(tmp_path), "--watch", "1"]) == 1
    assert capsys.readouterr().err.strip() == "--watch is 1; it must be at least 5 seconds."
