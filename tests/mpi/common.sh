# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Starting ranks. MPIEXEC is the launcher.

# Open MPI refuses root, and more ranks than cores, unless it is told otherwise. PoCL gets one core a rank.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_mpi_yield_when_idle=1
PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM PRTE_ALLOW_RUN_AS_ROOT PRTE_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe \
    OMPI_MCA_btl_base_warn_component_unused OMPI_MCA_mpi_yield_when_idle PRTE_MCA_rmaps_default_mapping_policy
# After a failure messages are left that nobody takes, which UCX warns of.
UCX_LOG_LEVEL=error
export UCX_LOG_LEVEL
POCL_MAX_PTHREAD_COUNT=${POCL_MAX_PTHREAD_COUNT:-1}
export POCL_MAX_PTHREAD_COUNT

LAUNCH_FLAGS=${LAUNCH_FLAGS:-}

# The launcher keeps the other ranks when one is killed.
keeps_going() {
    case $("$MPIEXEC" --version 2>&1) in
    *'Open MPI) 4'* | *OpenRTE*) echo '--enable-recovery' ;;
    *'Open MPI'*) echo '--with-ft ulfm' ;;
    *) echo '-disable-auto-cleanup' ;;
    esac
}

# run_ranks SECONDS RANKS PROGRAM [ARGUMENT...]: what the ranks print, and a line if one fails.
run_ranks() {
    seconds=$1 n=$2
    shift 2
    timeout --kill-after=10 "$seconds" "$MPIEXEC" $LAUNCH_FLAGS -n "$n" "$@" </dev/null 2>&1 || echo "status $?"
}

# need_launcher PROGRAM WHAT: skips the script where ranks of the program cannot be started.
need_launcher() {
    reason=
    if [ ! -x "$1" ]; then
        reason='configure found no MPI'
    elif [ -z "$MPIEXEC" ]; then
        reason='no launcher of that MPI'
    elif ! launches; then
        reason="$MPIEXEC starts no program here"
    fi
    [ -n "$reason" ] || return 0
    skip "$2" "$reason"
    finish
    exit 0
}

launches() {
    timeout 60 "$MPIEXEC" $LAUNCH_FLAGS -n 2 true </dev/null >/dev/null 2>&1
}
