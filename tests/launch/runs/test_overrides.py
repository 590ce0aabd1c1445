"""Options are read one by one; here a sample of runs is composed by Hydra in full, and must come out the same."""

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import OmegaConf

from launch.command import resolve
from launch.runs.groups import COMPONENTS
from launch.runs.options import CONF, Options
from launch.runs.overrides import overrides_of, run_from

SWEEPS = [
    ["activation=glob(*)", "hyperparams=best", "schedule=demo", "seed=0,1", "device=cpu", "store='/a b/c'"],
    ["benchmark=glob(*)", "protocol=clean", "intervention=l2_init", "stream_seed=4", "data=/x", "launch.workers=2"],
    ["activation=smooth_leaky", "hyperparams=grid", "hyperparams.grid=case_study", "optimizer.lr=1e-4"],
    ["experiment=table2_mnist", "activation=leaky_relu", "activation.negative_slope=1e-5,0.5", "seed=3"],
]


def composed(words):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return GlobalHydra.instance().config_loader().load_configuration("config", words, run_mode=RunMode.RUN)


@pytest.mark.walk(1)
@pytest.mark.parametrize("words", SWEEPS, ids=lambda words: words[0])
def test_a_run_composed_by_hydra_is_the_resolved_run(words):
    found = resolve(words)
    for run in found.runs[:: max(1, len(found.runs) // 5)]:
        config = composed(overrides_of(run, found.settings))
        choices = dict(config.hydra.runtime.choices)
        plain_config = OmegaConf.masked_copy(config, [key for key in config if key != "hydra"])
        for group in COMPONENTS:
            whole = OmegaConf.to_container(plain_config[group], resolve=True)
            assert {key: whole[key] for key in run.settings(group)} == run.settings(group)
            assert choices[group] == run.name(group)
            assert whole["_target_"] == run.targets[group]
        assert run_from(plain_config, choices) == (run, found.settings)


def test_they_are_those_that_hydra_finds_in_all_its_folders(tmp_path):
    (tmp_path / "activation").mkdir()
    (tmp_path / "activation" / "own.yaml").write_text("_target_: plasticity_lab.activations.relu.ReLU\n")
    (tmp_path / "activation" / "notes.txt").write_text("no option\n")
    words = [f"hydra.searchpath=[file://{tmp_path}]"]
    with initialize_config_dir(str(CONF), job_name="plasticity_lab", version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        config = loader.load_configuration("config", words, run_mode=RunMode.MULTIRUN)
        offered = Options(loader, config).vocabulary.options
        for group, names in offered.items():
            theirs = loader.get_group_options(group, config_name="config", overrides=words)
            assert names == sorted(theirs), group
    assert "own" in offered["activation"]


@pytest.mark.parametrize("option", ["activation=leaky_relu", "benchmark=random_label_mnist", "optimizer=adam"])
def test_a_file_read_alone_is_what_hydra_composes(option):
    group, _, name = option.partition("=")
    (run,) = resolve([option]).runs
    whole = OmegaConf.to_container(composed([option])[group], resolve=True)
    assert {key: whole[key] for key in run.science[group] if key != "name"} == {
        key: value for key, value in run.science[group].items() if key != "name"
    }
    assert run.science[group]["name"] == name
