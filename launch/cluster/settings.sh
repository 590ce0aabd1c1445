# What up.sh and down.sh share: the settings of the one-machine Slurm, where it lives, and how its daemons are found.
# Each setting is an environment variable; `make slurm-up LAB_NODES=4` sets one, too.

LAB=${SLURM_LAB:-$HOME/.slurm-lab}           # everything of the cluster lies in this folder
CLUSTER=${LAB_CLUSTER:-lab}                  # its name, by which jobs of two clusters are distinguished; each needs a folder of its own
NODES=${LAB_NODES:-2}                        # nodes n1, n2, …: a slurmd each
CPUS=${LAB_CPUS:-16}                         # declared for each node; more than the machine has is fine
GPUS=${LAB_GPUS:-2}                          # fake ones, for each node
MAX_ARRAY=${LAB_MAX_ARRAY:-1001}             # MaxArraySize; Slurm's own default, and that of many clusters, is 1001
GRACE=${LAB_GRACE:-0}                        # seconds that partition `preempt` leaves to a job it preempts
SECOND_GRACE=${LAB_SECOND_GRACE:-20}         # the same for partition `preempt_grace`
KILL_WAIT=${LAB_KILL_WAIT:-5}                # seconds between SIGTERM and SIGKILL
DEAD_AFTER=${LAB_DEAD_AFTER:-10}             # a node whose slurmd has been silent for this many seconds is down
EXTRA=${LAB_EXTRA:-}                         # more lines of slurm.conf: SlurmctldParameters=preempt_send_user_signal
ADDRESS=127.0.0.1                            # of all daemons; their ports:
DATABASE_PORT=${LAB_DATABASE_PORT:-13306} ACCOUNTING_PORT=${LAB_ACCOUNTING_PORT:-16819}
CONTROLLER_PORT=${LAB_CONTROLLER_PORT:-16817} FIRST_NODE_PORT=${LAB_FIRST_NODE_PORT:-16901}

PACKAGES=(slurm-wlm slurmdbd munge mariadb-server)
export SLURM_CONF=$LAB/etc/slurm.conf

# Whether a process runs; one that has ended and waits to be collected by a slow init does not.
runs() { case "$(ps -o stat= -p "$1" 2>/dev/null)" in '' | Z*) return 1 ;; esac; }

# Whether the daemon of that name runs, by its own file of its process number.
alive() { [ -s "$LAB/pid/$1.pid" ] && runs "$(cat "$LAB/pid/$1.pid")"; }

# Tries a command for 30 seconds, until it succeeds.
wait_for() {
    for _ in $(seq 300); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
    refuse "waited without success for \`$*\`; the logs are in $LAB/log."
}

# One sentence, and the end; with status 77 where nothing is wrong but that Slurm cannot be had on this machine.
refuse() { echo "slurm: $*" >&2; exit 1; }
pass() { echo "slurm: $*" >&2; exit 77; }
