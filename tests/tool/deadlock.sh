#!/bin/sh
# SPDX-License-Identifier: MIT
# The example of a refused deadlock names the cycle and draws it.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device

status=0
"$top_builddir/examples/deadlock" >"$work/drawn.dot" 2>"$work/said" || status=$?
check "it ends well" "$([ "$status" = 0 ] || { echo "status $status"; cat "$work/said"; })"
cat >"$work/wanted" <<'END'
CLS_ERROR_DEADLOCK: upload cannot wait for download, it would close a cycle: upload -> download -> compute -> upload
END
check "it names the cycle" "$(ours "$work/said" | diff "$work/wanted" - || true)"
cat >"$work/wanted" <<'END'
digraph "coordinator" {
    node [shape=box];
    n0 [label="upload", color=red];
    n2 [label="download", color=red];
    n1 [label="compute", color=red];
    n0 -> n2 [color=red, penwidth=2, style=dashed];
    n2 -> n1 [color=red, penwidth=2];
    n1 -> n0 [color=red, penwidth=2];
}
END
check "it draws the cycle" "$(diff "$work/wanted" "$work/drawn.dot" || true)"
if command -v dot >/dev/null; then
    check "Graphviz reads the drawing" "$(succeeds dot -Tplain "$work/drawn.dot")"
else
    skip "Graphviz reads the drawing" "no dot command"
fi
finish
