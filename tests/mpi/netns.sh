# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034
# Two "hosts": network namespaces with a link between them, names and half of the cores each. For root.

ns_a=clsa$$ ns_b=clsb$$ link_a=va$$ link_b=vb$$
ns_dir=

# Launchers bind the first rank of a host to its first core, which is one core for both of these hosts. So `across` has
# them bind nothing, and each host has its own cores. The middle one of an odd number belongs to both.
cores=$(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done)
half=$((($(echo "$cores" | wc -l) + 1) / 2))
cores_a=$(echo "$cores" | head -n $half | paste -sd ,)
cores_b=$(echo "$cores" | tail -n $half | paste -sd ,)

# make_hosts [DELAY RATE]: false where that is not permitted. Both hold for each direction; a kernel without netem has the
# rate only (ns_link says which).
ns_link='no delay'
shape() {
    if tc -n "$1" qdisc add dev "$2" root netem delay "$3" rate "$4"; then
        ns_link="delay $3, rate $4"
    elif tc -n "$1" qdisc add dev "$2" root tbf rate "$4" burst 256k latency 200ms; then
        ns_link="rate $4"
    else
        return 1
    fi
}
make_hosts() {
    ns_dir=$(mktemp -d)
    { ip netns add $ns_a && ip netns add $ns_b &&
        ip link add name "$link_a" netns $ns_a type veth peer name "$link_b" netns $ns_b &&
        ip -n $ns_a addr add 10.77.0.1/24 dev "$link_a" && ip -n $ns_b addr add 10.77.0.2/24 dev "$link_b" &&
        ip -n $ns_a link set "$link_a" up && ip -n $ns_b link set "$link_b" up &&
        ip -n $ns_a link set lo up && ip -n $ns_b link set lo up; } >"$ns_dir/log" 2>&1 || return 1
    # An exchange after a pause is to have the link's rate at once, as on links that are made for it.
    for ns in $ns_a $ns_b; do
        ip netns exec $ns sysctl -q -w net.ipv4.tcp_slow_start_after_idle=0 >>"$ns_dir/log" 2>&1 || :
    done
    if [ $# -gt 0 ]; then
        { shape $ns_a "$link_a" "$@" && shape $ns_b "$link_b" "$@"; } >>"$ns_dir/log" 2>&1 || return 1
    fi
    # What a launcher takes for ssh: options, the host, a command.
    cat >"$ns_dir/agent" <<AGENT
#!/bin/sh
while :; do
    case \$1 in
    -x | -q) shift ;;
    *) break ;;
    esac
done
case \$1 in
10.77.0.1) ns=$ns_a name=hosta cores=$cores_a ;;
*) ns=$ns_b name=hostb cores=$cores_b ;;
esac
shift
exec taskset -c \$cores ip netns exec \$ns unshare --uts sh -c 'hostname "\$0"; exec sh -c "\$1"' \$name "\$*"
AGENT
    chmod +x "$ns_dir/agent"
}

cut_link() { ip -n $ns_b link set "$link_b" down; }

# A launcher may still wait for ranks behind a link that was cut.
remove_hosts() {
    for ns in $ns_a $ns_b; do
        ip netns pids $ns 2>/dev/null | xargs -r kill -9 2>/dev/null || :
    done
    ip netns del $ns_a 2>/dev/null || :
    ip netns del $ns_b 2>/dev/null || :
    rm -rf "$ns_dir"
}

on_host_a() {
    taskset -c "$cores_a" ip netns exec $ns_a unshare --uts sh -c 'hostname hosta; exec "$@"' sh "$@"
}

# across RANKS COMMAND...: runs half of the ranks on each host.
across() {
    n=$1
    shift
    passed=$(env | sed -n 's/^\(RANKS_[A-Z]*\|CLSTREAM_[A-Z]*\|POCL_[A-Z_]*\|XDG_CACHE_HOME\|OCL_ICD_VENDORS\)=.*/-x \1/p')
    case $("$MPIEXEC" --version 2>&1) in
    *'Open MPI'* | *OpenRTE*)
        on_host_a "$MPIEXEC" $LAUNCH_FLAGS --bind-to none \
            --mca plm_rsh_agent "$ns_dir/agent" --mca plm_rsh_no_tree_spawn 1 --mca btl tcp,self --mca pml ob1 \
            --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
            --host "10.77.0.1:$((n / 2)),10.77.0.2:$((n - n / 2))" \
            $passed -n "$n" "$@" ;;
    *)
        on_host_a "$MPIEXEC" $LAUNCH_FLAGS -bind-to none \
            -launcher ssh -launcher-exec "$ns_dir/agent" -iface "$link_a" \
            -hosts "10.77.0.1:$((n / 2)),10.77.0.2:$((n - n / 2))" -n "$n" "$@" ;;
    esac
}
