#!/usr/bin/env bash
# A Slurm for the time of one command, which ends with it: launch/cluster/once.sh .venv/bin/pytest -m slurm
#
# It has a folder and ports of its own, so that one that runs already is left alone. COPIES=3 starts three, gw0, gw1, …
# in that folder: one for each process of pytest-xdist, which are called so. The exit status is the command's; 77 where
# none can be had on this machine.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)

all=$(mktemp -d)
names=$(for number in $(seq 0 $((${COPIES:-1} - 1))); do echo "gw$number"; done)

main() {
    chmod 755 "$all"
    trap stop_all EXIT
    for name in $names; do of "$name" "$here/up.sh" || exit; done
    SLURM_LAB=$all SLURM_CONF=$all/gw0/etc/slurm.conf "$@"
}

# A script of this folder for the Slurm of that name.
of() {
    local port=$((20000 + $$ % 400 * 30 + ${1#gw} * 10))
    SLURM_LAB=$all/$1 LAB_CLUSTER=${LAB_CLUSTER:-$1} LAB_DATABASE_PORT=$port LAB_ACCOUNTING_PORT=$((port + 1)) \
        LAB_CONTROLLER_PORT=$((port + 2)) LAB_FIRST_NODE_PORT=$((port + 3)) "$2"
}

stop_all() {
    for name in $names; do of "$name" "$here/down.sh" >/dev/null; done
    rm -rf "$all"
}

main "$@"
