"""The options that a command can name, beside Hydra's own list of them."""

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from launch.runs.files import CONF
from launch.runs.options import Options


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
