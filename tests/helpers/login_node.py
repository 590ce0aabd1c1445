"""A machine with stand-ins for Slurm's commands and no others: what it lacks, refuses, and a job that really runs."""

import os
import shutil
from pathlib import Path

import pytest

from plasticity_lab.process.account import user_name
from tests.helpers.stand_ins import BETWEEN, fails

TOOLS = ("bash", "cat", "env", "grep", "rm", "ln", "sed", "touch", "git", "stat", "wc", "g++", "as", "ld")
SCRIPTS = {
    "sinfo": """
case "$*" in
    *--version*) echo "slurm-wlm 22.05.8" ;;
    *%R*) echo cpu; echo gpu; echo old ;;
    *) cat "$JOBS/nodes" ;;
esac""",
    "scontrol": """
case "$*" in
    *config)
        echo "ClusterName             = north"
        echo "MaxArraySize            = 11"
        echo "AccountingStorageEnforce = associations,limits,qos"
        echo "PreemptType             = preempt/partition_prio" ;;
    *partition*) cat "$JOBS/partition" ;;
esac""",
    # A job is there as long as its file is, which is its script.
    "squeue": f"""
{BETWEEN}
[ -e "$JOBS/12" ] || exit 0
said() {{ sed -n "s,^#SBATCH --$1=,,p" "$JOBS/12" | sed "s,^',,;s,'$,,"; }}
row() {{ for column; do printf %s "$between$column"; done; echo; }}
IFS='|' read -r state reason <<<"${{STATE:-RUNNING|None}}"
folder=$(said output)
folder=${{folder%/*}}
case "$*" in
    *%u*) row 12 12 "$state" "$reason" n7 "$OWNER" "$(said comment)" "$folder/.submission_file_0.sh" ;;
    *%r*) row 12 "$state" "$reason" n7 ;;
    *) row 12 RUNNING ;;
esac""",
    "scancel": """rm -f "$JOBS/12"; echo "$@" >>"$JOBS/cancelled" """,
    "sacct": f"""
{BETWEEN}
case "$*" in
    *JobID*) echo "12${{between}}FAILED${{between}}0:53${{between}}n7" ;;
esac""",
    "sacctmgr": """
case "$*" in
    *associations*) echo "lab|normal,short|"; echo "other|normal|normal" ;;
    *qos*) echo "normal|"; echo "short|00:30:00" ;;
esac""",
    "sbatch": """
if grep -q -e "--test-only" "$1"; then
    if [ -e "$JOBS/refusal" ]; then sed "" "$JOBS/refusal" >&2; exit 1; fi
    echo "sbatch: Job 9 to start at 2026-11-28T13:09:10 using 1 processors on nodes n1 in partition cpu" >&2
    exit 0
fi
sed "" "$1" >"$JOBS/12"
(
    if [ -z "$STATE" ]; then SLURM_JOB_ID=12 SLURMD_NODENAME=n7 bash "$1"; rm -f "$JOBS/12"; fi
) >/dev/null 2>&1 </dev/null &
echo "Submitted batch job 12" """,
    # srun --unbuffered --output FILE COMMAND
    "srun": """
file=${3//%j/12}
exec "${@:4}" >"${file//%t/0}" 2>&1""",
}


NODES = """
cpu*|up|infinite|12|idle|16|64000|zen4|(null)
cpu*|up|infinite|8|mixed|64|256000|icelake|(null)
gpu|up|2:00:00|4|allocated|32|128000|(null)|gpu:h100:4(S:0-1)
old|down|infinite|2|idle|16|64000|(null)|(null)
""".lstrip()
"""As sinfo tells them in the columns of `launch/doctor/slurm.py`."""
PARTITION = (
    "PartitionName=cpu AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A "
    "DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=30 Hidden=NO MaxNodes=UNLIMITED "
    "MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=n[1-20] PriorityJobFactor=1 PriorityTier=1 "
    "RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=REQUEUE State=UP TotalCPUs=704 "
    "TotalNodes=20 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerCPU=100 MaxMemPerNode=UNLIMITED "
    "TRES=cpu=704,mem=2750G,node=20,billing=704"
)
"""As `scontrol --oneliner show partition` tells it."""


class LoginNode:
    """A machine on which only these of Slurm's commands are, and a few tools."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin, self.jobs = folder / "bin", folder / "jobs"
        for made in (self.bin, self.jobs):
            made.mkdir()
        for tool in TOOLS:
            if there := shutil.which(tool):
                (self.bin / tool).symlink_to(there)
        for name, script in SCRIPTS.items():
            self.put(name, script)
        self.tells("nodes", NODES)
        self.tells("partition", PARTITION)
        for name in [name for name in os.environ if name.startswith(("SLURM", "SBATCH"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PATH", str(self.bin))
        monkeypatch.setenv("JOBS", str(self.jobs))
        monkeypatch.setenv("OWNER", user_name())

    def put(self, name: str, script: str) -> None:
        """Has a command do something else."""
        (self.bin / name).write_text(f"#!{self.bin}/bash\n{script}\n")
        (self.bin / name).chmod(0o755)

    def tells(self, what: str, words: str) -> None:
        """Has Slurm say something else of its `nodes` or of a `partition`, or a `refusal` of what it is only asked."""
        (self.jobs / what).write_text(words + "\n")

    def refuses(self, name: str, words: str) -> None:
        self.put(name, fails(words))

    def lacks(self, *names: str) -> None:
        for name in names:
            (self.bin / name).unlink()

    @property
    def submitted(self) -> bool:
        """Whether a job is, or was, there."""
        return (self.jobs / "12").exists() or (self.jobs / "cancelled").exists()
