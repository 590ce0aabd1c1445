"""The parameters of `hydra/launcher=packed_slurm`: submitit_slurm's parameters, and a few more.

Hydra imports this at every start, so it imports neither torch nor submitit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf, SlurmQueueConf
from omegaconf import DictConfig, OmegaConf

from launch.launchers.slurm import cluster
from launch.launchers.slurm.signals import EARLY_SECONDS
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import Settings


@dataclass
class PackedSlurmConf(SlurmQueueConf):
    """Parameters as for submitit_slurm. A job is one worker, or `tasks_per_node` workers that share its GPUs.

    submitit_folder: the folder of scripts and logs; null: next to the sweep's plan, in the store. max_num_timeout: the
    largest number of requeues of a job, preemptions included. device_kind: the GPU, as `launch calibrate` names it;
    null: the only GPU with a calibration in the store. memory_gb: the memory that a pack may use; null: nine tenths of
    its share of `mem_gb`, and no limit on a GPU.
    """

    submitit_folder: str | None = None  # type: ignore[assignment]
    name: str = "plasticity_lab"
    cpus_per_task: int | None = 1
    stderr_to_stdout: bool = True
    max_num_timeout: int = 100
    device_kind: str | None = None
    memory_gb: float | None = None


OURS = ("submitit_folder", "max_num_timeout", "device_kind", "memory_gb")
"""Parameters of ours that submitit and sbatch do not receive."""
CONFIG_DIR = ("--config-dir", "-cd")
"""The flag for a folder with the user's options, such as launchers."""
_GENERAL = frozenset(BaseQueueConf.__dataclass_fields__)


def slurm_parameters(launcher: DictConfig) -> dict[str, Any] | None:
    """The parameters of a composed hydra.launcher if it is packed_slurm or based on it; None for any other."""
    values: Any = OmegaConf.to_container(launcher, resolve=True)
    return values if values.pop("_target_").endswith(".PackedSlurm") else None


def names_launcher(word: str) -> bool:
    """Whether a word of a command names a launcher, or one of its parameters."""
    return word.lstrip("+~").startswith(("hydra/launcher", "hydra.launcher"))


def launcher_words(command: Sequence[str]) -> list[str]:
    """The words of a command about its jobs: launcher, parameters, and the folder of the user's options."""
    words: list[str] = []
    for before, word in zip(("", *command), command, strict=False):
        if before in CONFIG_DIR:
            words += [CONFIG_DIR[0], word]
        elif names_launcher(word) or word.startswith((f"{CONFIG_DIR[0]}=", "hydra.searchpath=")):
            words.append(word)
    return words


def check_submission(parameters: Mapping[str, Any], settings: Settings) -> None:
    """Raises ConfigError or SlurmError if jobs with these parameters cannot be submitted here.

    If the plan is only shown, or only written, this machine need not have Slurm.
    """
    check_parameters(parameters)
    wants_gpu(parameters, settings.device)
    if not (settings.dry_run or settings.plan_only):
        cluster.check_there()
        cluster.check_partition(parameters["partition"])


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raises ConfigError if no job may run, or if a job could get the signal of its time limit at its start."""
    if parameters["array_parallelism"] < 1:
        raise ConfigError(
            f"hydra.launcher.array_parallelism={parameters['array_parallelism']} lets no job run: it says how many of "
            "an array may run at the same time; say 1 or more."
        )
    limit, warning = parameters["timeout_min"] * 60, parameters["signal_delay_s"] + EARLY_SECONDS
    if limit <= warning:
        raise ConfigError(
            f"hydra.launcher.timeout_min={parameters['timeout_min']} is too short: signal_delay_s, and one minute "
            f"because Slurm may be early, take {warning} of its {limit} seconds; raise it, or lower signal_delay_s."
        )


def wants_gpu(parameters: Mapping[str, Any], device: str) -> bool:
    """Whether workers train on GPUs: if the job requests GPUs, unless device=cpu.  Raises ConfigError."""
    asked = parameters["gpus_per_node"] or parameters["gpus_per_task"] or "gpu" in (parameters["gres"] or "")
    asked = asked or any(key.replace("_", "-").startswith("gpus") for key in parameters["additional_parameters"])
    if device == "cuda" and not asked:
        raise ConfigError("device is cuda, but the jobs ask for no GPU; say hydra.launcher.gpus_per_node=1, or gres.")
    if device.startswith("cuda:"):
        raise ConfigError(f"device is {device}, but Slurm chooses the GPU of a job; say device=auto.")
    return bool(asked) and device != "cpu"


def workers_a_job(parameters: Mapping[str, Any]) -> int:
    """The number of workers in one job of the array."""
    return max(1, parameters["tasks_per_node"]) * max(1, parameters["nodes"])


def for_submitit(parameters: Mapping[str, Any], setup: list[str], teardown: list[str]) -> dict[str, Any]:
    """The parameters for submitit's AutoExecutor.

    setup: lines of the script after the user's setup lines. teardown: the last lines of the script.
    """
    # On a cluster with JobRequeue=0, a preempted job comes back only if its parameters request that.
    extra = {"requeue": True} | parameters["additional_parameters"]
    scripts = {"setup": [*(parameters["setup"] or []), *setup], "teardown": teardown}
    known = {**parameters, "additional_parameters": extra, **scripts}
    return {
        key if key in _GENERAL else f"slurm_{key}": value
        for key, value in known.items()
        if key not in OURS and value is not None
    }
