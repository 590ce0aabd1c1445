#!/usr/bin/env bash
# Starts a real Slurm on this machine, with accounting, fake GPUs and preemption, to try sweeps on and for the tests.
#
#     make slurm-up                                     then: source ~/.slurm-lab/env.sh
#     make slurm-up LAB_MAX_ARRAY=20001 LAB_NODES=4     settings.sh lists what can be set
#
# Needs root, as in a container, and Debian or Ubuntu, whose packages it installs where they are missing. Nothing of it
# lies outside its own folder, and it listens on this machine alone. Given again, it starts what does not run and takes
# over new settings. For play only: its passwords are known, and its database prefers speed to safety.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/settings.sh"
source "$here/configuration.sh"

main() {
    [ "$(id -u)" = 0 ] || pass "a Slurm of one's own needs root; start one in a container, as in: docker run -it debian:12"
    install_packages
    mkdir -p "$LAB"/{etc,log,pid,spool,state,munge,db,dev}
    chmod 755 "$LAB" "$LAB/munge"
    echo "export SLURM_CONF=$SLURM_CONF SLURM_LAB=$LAB" >"$LAB/env.sh"
    start_munge
    start_database
    write_accounting_configuration
    write_slurm_configuration
    start_slurm
    echo "slurm: $NODES nodes are up, $(sinfo -h -o '%R' | paste -sd, | sed 's/,/, /g') are their partitions; now: source $LAB/env.sh"
}

install_packages() {
    local missing
    missing=$(for name in sbatch slurmctld slurmd slurmdbd munged mariadbd; do command -v "$name" || echo "no $name"; done | sed -n 's/^no //p' | paste -sd' ')
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null ||
        pass "$missing: not there, and no apt-get to install it with; this works on Debian and Ubuntu (packages ${PACKAGES[*]})."
    mkdir -p "$LAB/log"
    echo "slurm: installing ${PACKAGES[*]} ..."
    {
        apt-get update -qq &&
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${PACKAGES[@]}"
    } >"$LAB/log/install.log" 2>&1 || pass "the packages ${PACKAGES[*]} could not be installed: $(tail -n 1 "$LAB/log/install.log")"
}

# Who speaks to whom is checked by munge; with a key and a socket of our own, /etc/munge is left alone.
start_munge() {
    if ! alive munged; then
        [ -s "$LAB/munge/key" ] || dd if=/dev/urandom of="$LAB/munge/key" bs=1024 count=1 status=none
        chmod 400 "$LAB/munge/key"
        rm -f "$LAB"/munge/sock*
        munged --force --key-file="$LAB/munge/key" --socket="$LAB/munge/sock" --pid-file="$LAB/pid/munged.pid" \
            --log-file="$LAB/log/munged.log" --seed-file="$LAB/munge/seed" --num-threads=4
    fi
    wait_for munge -S "$LAB/munge/sock" -n
}

start_database() {
    if ! alive mariadbd; then
        [ -d "$LAB/db/data/mysql" ] || mariadb-install-db --no-defaults --user=root --datadir="$LAB/db/data" \
            --auth-root-authentication-method=socket --skip-test-db >"$LAB/log/mariadb-install.log" 2>&1
        setsid mariadbd --no-defaults --user=root --datadir="$LAB/db/data" --socket="$LAB/db/sock" \
            --bind-address=$ADDRESS --port="$DATABASE_PORT" --pid-file="$LAB/pid/mariadbd.pid" \
            --innodb-flush-log-at-trx-commit=0 --innodb-lock-wait-timeout=900 --innodb-buffer-pool-size=128M \
            --skip-log-bin >"$LAB/log/mariadbd.log" 2>&1 </dev/null &
    fi
    wait_for sql 'select 1'
    sql "CREATE DATABASE IF NOT EXISTS slurm_acct;"
    for host in 127.0.0.1 localhost; do
        sql "CREATE USER IF NOT EXISTS 'slurm'@'$host' IDENTIFIED BY 'lab'; GRANT ALL ON slurm_acct.* TO 'slurm'@'$host';"
    done
}

sql() { mariadb --no-defaults -S "$LAB/db/sock" -uroot -e "$1"; }

start_slurm() {
    alive slurmdbd || slurmdbd
    wait_for sacctmgr -n show cluster
    sacctmgr -n show cluster format=cluster | grep -qw "$CLUSTER" || sacctmgr -i add cluster "$CLUSTER" >/dev/null
    if alive slurmctld; then scontrol reconfigure; else slurmctld; fi
    wait_for scontrol ping
    for number in $(seq "$NODES"); do
        alive "slurmd-n$number" || slurmd -N "n$number"
    done
    wait_for all_nodes_are_up
}

# A node that was drained, as after a wrong setting, stays so until it is resumed.
all_nodes_are_up() {
    sinfo -h -p cpu -N -o '%N %T' | awk '/drain|inval|down/ {print $1}' |
        xargs -r -I NODE scontrol update NodeName=NODE State=RESUME
    [ "$(sinfo -h -p cpu -N -o '%N %T' | grep -cE ' (idle|allocated|mixed)$')" -ge "$NODES" ]
}

main
