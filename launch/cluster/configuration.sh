# The configuration files of the one-machine Slurm; sourced by up.sh, after settings.sh.

# Slurm binds to the address of the host's name; only where that is the loopback can it be set to keep to it.
case "$(getent ahostsv4 "$(hostname)" | awk 'NR == 1 {print $1}')" in
    127.*) LOOPBACK="CommunicationParameters=NoCtldInAddrAny,NoInAddrAny" ;;
    *) LOOPBACK="# all interfaces" ;;
esac

write_accounting_configuration() {
    cat >"$LAB/etc/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$LAB/munge/sock
DbdHost=localhost
DbdAddr=$ADDRESS
DbdPort=$ACCOUNTING_PORT
SlurmUser=root
LogFile=$LAB/log/slurmdbd.log
PidFile=$LAB/pid/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=$ADDRESS
StoragePort=$DATABASE_PORT
StorageUser=slurm
StoragePass=lab
StorageLoc=slurm_acct
CommitDelay=1
$LOOPBACK
END
    chmod 600 "$LAB/etc/slurmdbd.conf" # slurmdbd insists
}

write_slurm_configuration() {
    cat >"$LAB/etc/slurm.conf" <<END
ClusterName=$CLUSTER
SlurmctldHost=localhost($ADDRESS)
SlurmctldPort=$CONTROLLER_PORT
SlurmUser=root
AuthType=auth/munge
# A requeued job waits for its old credential to expire; Slurm's default is 120 seconds.
AuthInfo=socket=$LAB/munge/sock,cred_expire=5
CredType=cred/munge
$LOOPBACK
StateSaveLocation=$LAB/state
SlurmdSpoolDir=$LAB/spool/%n
SlurmctldPidFile=$LAB/pid/slurmctld.pid
SlurmdPidFile=$LAB/pid/slurmd-%n.pid
SlurmctldLogFile=$LAB/log/slurmctld.log
SlurmdLogFile=$LAB/log/slurmd-%n.log
MailProg=/bin/true

# A container has no cgroups of its own.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
PropagateResourceLimits=NONE
# Believe the NodeName lines, not the machine.
SlurmdParameters=config_overrides

AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$ADDRESS
AccountingStoragePort=$ACCOUNTING_PORT
# Towards slurmdbd the pass word is munge's socket; AuthInfo is not looked at there.
AccountingStoragePass=$LAB/munge/sock
AccountingStorageTRES=gres/gpu

# Everything at once: the default intervals are made for thousands of nodes.
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,sched_min_interval=0,batch_sched_delay=0,default_queue_depth=500,requeue_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=$KILL_WAIT
SlurmdTimeout=$DEAD_AFTER
ReturnToService=2
MaxArraySize=$MAX_ARRAY
MaxJobCount=50000
GresTypes=gpu
$EXTRA
END
    : >"$LAB/etc/gres.conf"
    for number in $(seq "$NODES"); do
        cat >>"$LAB/etc/slurm.conf" <<END
NodeName=n$number NodeHostname=localhost NodeAddr=$ADDRESS Port=$((FIRST_NODE_PORT + number - 1)) CPUs=$CPUS Boards=1 SocketsPerBoard=1 CoresPerSocket=$CPUS ThreadsPerCore=1 RealMemory=64000 Gres=gpu:$GPUS
END
        if make_gpus; then gpus="File=$LAB/dev/gpu[0-$((GPUS - 1))]"; else gpus="Count=$GPUS"; fi
        echo "NodeName=n$number Name=gpu $gpus Flags=nvidia_gpu_env" >>"$LAB/etc/gres.conf"
    done
    # `cpu` is the default; a job there or in `gpu` pushes out jobs of `preempt` and `preempt_grace`.
    cat >>"$LAB/etc/slurm.conf" <<END
PartitionName=DEFAULT Nodes=ALL State=UP OverSubscribe=NO DefMemPerCPU=100 DefaultTime=60 MaxTime=INFINITE
PartitionName=cpu Default=YES PriorityTier=10 PreemptMode=OFF
PartitionName=gpu PriorityTier=10 PreemptMode=OFF
PartitionName=preempt PriorityTier=1 PreemptMode=REQUEUE GraceTime=$GRACE
PartitionName=preempt_grace PriorityTier=1 PreemptMode=REQUEUE GraceTime=$SECOND_GRACE
END
}

# Fake GPUs. Only for character devices does slurmd set CUDA_VISIBLE_DEVICES; without the right to make them it counts.
make_gpus() {
    local number
    [ "$GPUS" -gt 0 ] || return
    for number in $(seq 0 $((GPUS - 1))); do
        [ -c "$LAB/dev/gpu$number" ] || mknod "$LAB/dev/gpu$number" c 195 "$number" 2>/dev/null || return
    done
}
