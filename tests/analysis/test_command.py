import json

import pytest

from analysis.__main__ import main
from plasticity_lab.agents.replay.agent import GROUPS
from plasticity_lab.records.record import write_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.task_matrix import with_matrix
from tests.helpers.made_up_agent import PLAYER
from tests.helpers.stores import planned_records


@pytest.fixture
def store(tmp_path, seeds, benchmarks):
    """A store of two activations on two benchmarks, three seeds each."""
    store = Store(tmp_path / "a store")
    for name, values in {"relu": [0.5, 0.51, 0.52], "tanh": [0.6, 0.62, 0.63]}.items():
        for benchmark in ("digits", "mnist"):
            for record in seeds(name, values, benchmark=benchmarks[benchmark]):
                write_record(store, record)
    return store


def test_the_table_is_printed_and_written_in_four_forms(store, capsys):
    assert main(["table", "--store", str(store.root)]) == 0
    shown = capsys.readouterr().out
    for words in ("Permuted MNIST", "Permuted digits", "**61.67 ± 1.53**†", "78.85 ± 0.06", "Written:"):
        assert words in shown
    files = {path.name: path.read_text() for path in (store.root / "tables").iterdir()}
    groups = json.loads(files.pop("table2.json"))
    assert sum(len(group["runs"]) for group in groups) == 12, "every run, with what made it"
    assert sorted(files) == ["table2.csv", "table2.md", "table2.tex", "table2.txt"]
    assert all("61.6" in content for content in files.values())
    assert files["table2.txt"] in shown
    assert shown.startswith("Table 2: Total Average Online Task Accuracy (as_published, demo, default)\n")


def test_filters_metric_and_folder(store, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PLASTICITY_STORE", str(store.root))
    assert main(["table", "--benchmark", "permuted_mnist", "--metric", "gap", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "Permuted MNIST" in shown
    assert "Permuted digits" not in shown
    assert "1.00 ± 0.00" in shown
    assert (tmp_path / "out" / "table2.csv").exists()
    assert not (store.root / "tables").exists()


def test_a_missing_and_an_empty_store_say_so(tmp_path, capsys):
    assert main(["table", "--store", str(tmp_path / "nowhere")]) == 1
    assert "There is no store at" in capsys.readouterr().err
    assert main(["table", "--store", str(tmp_path)]) == 1
    assert "holds no runs" in capsys.readouterr().err


def test_unreadable_files_are_named_and_left_out(store, record, capsys):
    torn, nameless = record("gelu"), record("selu") | {"science": {}}
    for each in (torn, nameless):
        write_record(store, each)
    store.record(torn["run"]).write_text('{"format": 1, "ru')
    store.plan("feedfeedfeed").parent.mkdir(parents=True)
    store.plan("feedfeedfeed").write_text("[]")
    assert main(["table", "--store", str(store.root)]) == 0
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 3
    for each in (store.record(torn["run"]), store.record(nameless["run"]), store.plan("feedfeedfeed")):
        assert str(each) in err
    assert "GeLU" not in out
    assert "61.67" in out


def test_runs_that_a_plan_names_are_waited_for(store, seeds, tmp_path, capsys):
    relu, gelu = seeds("relu", [0.5, 0.51, 0.52, 0.53]), seeds("gelu", [0.5])
    planned_records(store, relu, [*relu[3:], *gelu])
    assert main(["table", "--benchmark", "permuted_digits", "--store", str(store.root)]) == 0
    shown = capsys.readouterr().out
    assert "51.00 ± 1.00 (3/4)" in shown
    assert "– (0/1)" in shown
    made = str(store.root / "tables" / "table2.json")
    assert main(["table", "--store", made, "--out", str(tmp_path)]) == 0, "its JSON knows what is waited for, too"
    for name in ("table2.csv", "table2.md", "table2.json"):
        assert (tmp_path / name).read_text() == (store.root / "tables" / name).read_text()


def test_a_table_is_made_again_from_its_json_and_together_with_a_store(store, seeds, benchmarks, tmp_path, capsys):
    for record in seeds("gelu", [0.4, 0.7], benchmark=benchmarks["mnist"], status="diverged"):
        write_record(store, record)
    mnist = ["--benchmark", "permuted_mnist"]
    assert main(["table", *mnist, "--store", str(store.root), "--out", str(tmp_path / "first")]) == 0
    first = tmp_path / "first" / "table2.json"
    again = ["--store", str(first), str(first), "--out", str(tmp_path / "again")]
    assert main(["table", *again]) == 0
    for ending in ("csv", "md", "tex", "txt", "json"):
        path = f"table2.{ending}"
        assert (tmp_path / "again" / path).read_text() == (tmp_path / "first" / path).read_text()
    other = Store(tmp_path / "other")
    for record in seeds("selu", [0.7, 0.71, 0.72], benchmark=benchmarks["mnist"]):
        write_record(other, record)
    planned = seeds("relu", [0.5, 0.51, 0.52], benchmark=benchmarks["mnist"])
    planned_records(other, [], planned)
    capsys.readouterr()
    assert main(["table", "--store", str(first), str(other.root)]) == 0
    shown = capsys.readouterr().out
    assert "51.00 ± 1.00 " in shown, "what another store waits for has ended"
    assert "**71.00 ± 1.00**†" in shown, "the best of both"
    assert "61.67 ± 1.53" in shown
    assert (other.root / "tables" / "table2.csv").exists()


@pytest.mark.parametrize("content", ['{"runs": 3}', "{}", '""'])
def test_a_file_that_is_no_tables_json_is_a_sentence(tmp_path, capsys, content):
    (tmp_path / "notes.json").write_text(content)
    assert main(["table", "--store", str(tmp_path / "notes.json")]) == 1
    assert "notes.json" in capsys.readouterr().err


def test_a_store_without_classifiers_shows_what_its_agent_names_first(tmp_path, record, capsys):
    store = Store(tmp_path / "store")
    for seed in range(3):
        played = record(seed=seed, science={"agent": {"name": "player"}})
        played["summary"] = {"mean_return": 10.0 + seed, "parameters": 5, "seconds": 1.0}
        write_record(store, played | {"measures": PLAYER.as_json()})
    assert main(["table", "--store", str(store.root)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Headline: Mean return (")
    assert "11.0 ± 1.0" in shown
    assert main(["table", "table2", "--store", str(store.root)]) == 1
    assert "mean_return, parameters, seconds" in capsys.readouterr().err
    written = store.root / "tables" / "headline.json"
    assert main(["table", "--store", str(written), "--out", str(tmp_path / "again")]) == 0
    assert "11.0 ± 1.0" in capsys.readouterr().out, "the JSON of a table says what its numbers are"


def test_a_table_leaves_out_and_names_agents_that_do_not_measure_it(store, record, capsys):
    played = record(science={"agent": {"name": "player"}})
    played["summary"] = {"mean_return": 10.0}
    write_record(store, played | {"measures": PLAYER.as_json()})
    assert main(["table", "2", "--store", str(store.root)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Table 2: Total Average Online Task Accuracy")
    assert "agent.name" not in out
    assert all(word in err for word in ("agent=player", "taoa", "table headline"))
    assert main(["table", "--store", str(store.root)]) == 0
    assert capsys.readouterr().out.count("Headline: ") == 2, "what each agent names first, where nothing is named"


def test_runs_that_wait_are_not_said_to_measure_something_else(tmp_path, record, benchmarks, capsys):
    def of(arm, agent):
        return record(benchmark=benchmarks["mnist"] | {"name": arm}, science={"agent": {"name": agent}})

    done, waiting = of("split_cifar100", "experience_replay"), of("split_cifar100_joint", "no_replay")
    store = Store(tmp_path / "half of it")
    write_record(store, done | {"summary": {"acc": 0.25}, "measures": with_matrix(GROUPS).as_json()})
    planned_records(store, [done, waiting], [waiting])
    assert main(["table", "1", "--store", str(store.root)]) == 0
    out, err = capsys.readouterr()
    assert "– (0/1)" in out
    assert "Left out" not in err
