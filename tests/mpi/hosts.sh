#!/bin/sh
# SPDX-License-Identifier: MIT
# hosts.sh DELAY RATE RANKS COMMAND...: runs half of the ranks on each of two "hosts" (netns.sh), with the launcher MPIEXEC.
set -eu
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/netns.sh"

: "${MPIEXEC:=mpirun}"
trap remove_hosts EXIT
trap 'exit 1' INT TERM
make_hosts "$1" "$2" || {
    cat "$ns_dir/log" >&2
    exit 1
}
echo "# the link: $ns_link"
shift 2
across "$@"
