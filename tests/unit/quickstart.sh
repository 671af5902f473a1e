#!/bin/sh
# SPDX-License-Identifier: MIT
# quickstart configures once: in a tree whose bootstrap, configure and demo are made up, a second run only builds and
# runs, and one with other options configures again.
set -eu
. "$srcdir/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The tools that only bootstrap needs may be missing here, and nothing is to be installed.
mkdir -p "$dir/bin" "$dir/tree/examples"
for tool in autoreconf automake libtoolize; do
    printf '#!/bin/sh\n' >"$dir/bin/$tool"
done
printf '#!/bin/sh\necho "apt-get was run" >&2\nexit 1\n' >"$dir/bin/apt-get"
cp "$srcdir/quickstart" "$dir/tree/quickstart"
cat >"$dir/tree/bootstrap" <<'END'
#!/bin/sh
cat >"$(dirname "$0")/configure" <<'CONFIGURE'
#!/bin/sh
echo "$*" >>configured
touch config.status
printf 'all:\nclean:\n' >Makefile
CONFIGURE
chmod +x "$(dirname "$0")/configure"
END
echo 'echo made up' >"$dir/tree/examples/demo.sh"
chmod +x "$dir/bin/"* "$dir/tree/quickstart" "$dir/tree/bootstrap"

# run OPTIONS: runs it, and says how often it has configured so far.
run() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL PATH="$dir/bin:$PATH" HOME="$dir" QUICKSTART_CONFIGURE="$1" \
        "$dir/tree/quickstart" demo >"$dir/out" 2>&1 || cat "$dir/out" "$dir/tree/build-quick/quickstart.log"
    wc -l <"$dir/tree/build-quick/configured"
}

# expect TIMES OPTIONS
expect() {
    times=$(run "$2")
    [ "$times" -eq "$1" ] || echo "configured $times times, not $1"
}

check 'the first run configures' "$(expect 1 '')"
check 'the second does not' "$(expect 1 '')"
check 'one with other options does' "$(expect 2 --without-clblast)"
finish
