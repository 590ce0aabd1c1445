#!/usr/bin/env bash
# Stops the Slurm of up.sh, and its jobs; `make slurm-down WIPE=1` removes its folder too.
set -uo pipefail
source "$(cd "$(dirname "$0")" && pwd)/settings.sh"

main() {
    [ -d "$LAB/pid" ] || { echo "slurm: nothing runs from $LAB."; exit 0; }
    if alive slurmctld; then
        scancel --user="$(id -un)" 2>/dev/null
        for _ in $(seq 100); do [ -z "$(squeue -h 2>/dev/null)" ] && break; sleep 0.1; done
    fi
    for file in "$LAB"/pid/slurmd-*.pid; do [ -e "$file" ] && stop "$(basename "$file" .pid)"; done
    for name in slurmctld slurmdbd mariadbd munged; do stop "$name"; done
    if [ -n "${WIPE:-}" ]; then rm -rf "$LAB"; fi
    echo "slurm: stopped"
}

# SIGTERM, and SIGKILL for what has not ended in ten seconds.
stop() {
    local file="$LAB/pid/$1.pid" number
    if alive "$1"; then
        number=$(cat "$file")
        kill "$number"
        for _ in $(seq 100); do runs "$number" || break; sleep 0.1; done
        if runs "$number"; then kill -9 "$number"; fi
    fi
    rm -f "$file"
}

main
