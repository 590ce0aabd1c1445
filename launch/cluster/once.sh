#!/usr/bin/env bash
# A Slurm for the time of one command, which ends with it: launch/cluster/once.sh .venv/bin/pytest -m slurm
#
# It has a folder and ports of its own, so that one that runs already is left alone. The exit status is the command's; 77
# where none can be had on this machine.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)

SLURM_LAB=$(mktemp -d)
port=$((20000 + $$ % 1000 * 10))
export SLURM_LAB SLURM_CONF=$SLURM_LAB/etc/slurm.conf LAB_DATABASE_PORT=$port LAB_ACCOUNTING_PORT=$((port + 1)) \
    LAB_CONTROLLER_PORT=$((port + 2)) LAB_FIRST_NODE_PORT=$((port + 3))
trap 'WIPE=1 "$here/down.sh" >/dev/null; rm -rf "$SLURM_LAB"' EXIT

"$here/up.sh" || exit
"$@"
