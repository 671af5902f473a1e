#!/bin/sh
# SPDX-License-Identifier: MIT
# Dependencies point down only, by includes and by calls; only lib/driver calls OpenCL, and only lib/system the system.
set -eu
. "$srcdir/tests/tap.sh"

# Rooms from below to above.
layers='system base driver stream memory command check api ops trace coordinator batch graph pipeline'

# Libraries of their own, on the public interface.
addons='mpi'

# The one place that knows all rooms. The rooms below call its table `hooks` (stream/hooks.h).
all_knowing='api/hooks'

# Of the files named by its input: their code, as "file:line: text", with comments blanked and the insides of strings and
# character constants gone, except on #include lines.
code_of() {
    tr '\n' '\0' | xargs -0 awk '
    function strip(text,    out, c) {
        while (text != "") {
            if (in_comment) {
                if (!match(text, /\*\//)) break
                in_comment = 0
                text = substr(text, RSTART + 2)
            } else if (!match(text, /\/\*|\/\/|["\047]/)) {
                return out text
            } else {
                c = substr(text, RSTART, RLENGTH)
                out = out substr(text, 1, RSTART - 1)
                text = substr(text, RSTART + RLENGTH)
                if (c == "//") break
                if (c == "/*") { in_comment = 1; continue }
                out = out c c
                if (!match(text, "^([^" c "\\\\]|\\\\.)*" c)) break
                text = substr(text, RLENGTH + 1)
            }
        }
        return out
    }
    FNR == 1 { in_comment = 0 }
    !in_comment && /^[ \t]*#[ \t]*include/ { print FILENAME ":" FNR ": " $0; next }
    { print FILENAME ":" FNR ": " strip($0) }'
}

# Of such lines the includes, as "file:line:header".
includes() { sed -n 's/^\([^:]*:[0-9]*\): *# *include "\([^"]*\)".*/\1:\2/p'; }

# Files of rooms: "lib/stream/stream.c" ...; generated ones lie in the build folder.
files_of() {
    for room in "$@"; do
        for root in "$srcdir" "$top_builddir"; do
            [ ! -d "$root/lib/$room" ] || (cd "$root/lib/$room" && find "$PWD" -name '*.[ch]')
        done | sort -u
    done
}

opencl_calls() {
    # shellcheck disable=SC2086 # words
    files_of $layers | grep -v /lib/driver/ | code_of | grep -E ':.*:(.*[^A-Za-z0-9_])?cl[A-Z][A-Za-z0-9]*' || true
}

# Headers of C11, and pthread.h, which MinGW has.
plain_headers='assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string tgmath time uchar wchar wctype pthread'

# What those headers declare beyond C11, what Windows does another way, and what tells systems apart.
systems_own='open_memstream|fmemopen|fdopen|fileno|getline|fopen|freopen|remove|rename|tmpfile|getenv|setenv|putenv|environ|realpath'
systems_own="$systems_own|mkstemp|aligned_alloc|posix_memalign|strerror_r|strsignal|str(n)?casecmp|clock_[a-z]+time|nanosleep|localtime_r|gmtime_r"
systems_own="$systems_own|newlocale|uselocale|sched_yield|sem_[a-z]+|pthread_sigmask|pthread_atfork|pthread_[gs]etname_np|pthread_kill"
systems_own="$systems_own|pthread_condattr_setclock|pthread_cond_timedwait|atexit|getpid|raise|sigaction|ssize_t|pid_t|off_t"
systems_own="$systems_own|_WIN32|_WIN64|__MINGW[0-9]*__|__linux__|__APPLE__|__unix__|_GNU_SOURCE|_XOPEN_SOURCE|_POSIX_C_SOURCE"

# Of "file:line: text" those that name what is the system's.
of_the_system() {
    awk -v plain="$plain_headers" -v own="(^|[^A-Za-z0-9_.>])($systems_own)([^A-Za-z0-9_]|\$)" '
        BEGIN { n = split(plain, list, "[ \n]+"); for (i = 1; i <= n; i++) allowed[list[i] ".h"] = 1
            n = split("utlist uthash xxhash clblast_c vkFFT config", list, " ")
            for (i = 1; i <= n; i++) allowed[list[i] ".h"] = 1 }
        { text = $0; sub(/^[^:]*:[0-9]*: /, "", text) }
        match(text, /^[ \t]*#[ \t]*include[ \t]*<[^>]*>/) {
            header = text; sub(/^[^<]*</, "", header); sub(/>.*/, "", header)
            if (!(header in allowed) && header !~ /^(clstream|CL)\//) print $1 " " header " is of lib/system"
            next
        }
        text ~ own { print }'
}

outside_the_system() {
    # shellcheck disable=SC2046,SC2086 # words
    files_of ${layers#system } | code_of | grep -v "/driver/vkfft\.h:" | of_the_system # which is VkFFT's header
}

unfound_systems() {
    for line in '#include <unistd.h>' '#include <sys/mman.h>' 'x = getenv("");' '#ifdef _WIN32'; do
        [ -n "$(echo "planted.c:1: $line" | of_the_system)" ] || echo "$line is not found"
    done
    for line in '#include <pthread.h>' '#include <CL/cl.h>' 'a->remove(b);'; do
        [ -z "$(echo "planted.c:1: $line" | of_the_system)" ] || echo "$line is refused"
    done
}

# system/threads.h blocks the signals of the process in every thread of the library.
own_threads() {
    grep -n 'pthread_create(' -r "$srcdir/lib" | grep -v '/system/[a-z]*_threads\.c:' | grep -v '/mpi/comm\.c:'
    return 0
}

upward_includes() {
    below=' config.h'
    for layer in $layers; do
        below="$below $layer"
        files_of "$layer" | grep -v "/lib/$all_knowing\.c\$" | code_of | includes |
            awk -F: -v below="$below " -v layer="$layer" '
                { room = $3; sub("/.*", "", room) }
                !index(below, " " room " ") { print $1 ":" $2 ": includes \"" $3 "\", which is not below " layer }'
    done
}

# "room/file room/file symbol": each use in one object file of lib/ of what another one defines. An object may outlive
# its source, which has moved: those are left out.
calls() {
    sources=$(files_of $layers | sed -n 's,.*/lib/\([a-z]*/[a-z_0-9]*\)\.c$,\1,p')
    (cd "$top_builddir/lib" && find . -name '*.o' -exec nm -A {} + 2>/dev/null) | awk -v sources="$sources" '
        BEGIN { n = split(sources, list, "\n"); for (i = 1; i <= n; i++) has[list[i]] = 1 }
        {
            file = substr($1, 3)
            sub(/\.o:.*/, "", file); sub(/\.libs\//, "", file); sub(/\/[a-z_]*-/, "/", file)
            if (!(file in has)) next
        }
        NF == 3 && $2 ~ /[A-TV-Z]/ { home[$3] = file }
        NF == 3 && $2 == "U" { uses[file " " $3] = 1 }
        END {
            for (use in uses) {
                split(use, part, " ")
                if (part[2] in home && home[part[2]] != part[1])
                    print part[1], home[part[2]], part[2]
            }
        }' | sort -u
}

# Of such lines those that point up.
upward_calls() {
    awk -v layers="$layers" -v all_knowing="$all_knowing" '
        BEGIN { n = split(layers, list, " "); for (i = 1; i <= n; i++) height[list[i]] = i }
        $1 == all_knowing || $3 == "hooks" { next }
        {
            split($1, from, "/"); split($2, to, "/")
            if (height[to[1]] > height[from[1]])
                print $1 " uses " $3 " of " $2 ", which is not below"
        }'
}

# Rooms whose files call each other in a circle: lib/stream is one machine, and pools of memory and the race checker
# are a few files around one structure each. Of such lines those of other rooms that are part of a circle.
circles() {
    awk '{ split($1, from, "/"); split($2, to, "/")
        if (from[1] == to[1] && from[1] !~ /^(stream|memory|check)$/) print $1, $2 }' |
        tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([a-z].*\)/\1 is in a circle of calls/p' | grep / || true
}

# The rooms above the machine use it through one header each, which says what they use.
undeclared_uses() {
    files_of coordinator batch graph pipeline | grep -v '/internals\.h$' | code_of |
        grep -E '# *include "(stream|memory|command|check|api)/' || true
}

# Of those headers the functions that it lists: "room function" for each other one that a room uses.
unlisted_functions() {
    below=$(files_of stream memory command check api | grep '\.h$' | code_of |
        sed -n 's/^[^:]*:[0-9]*: [a-z][^(]*[ *]\([a-z_0-9]*\)(.*/\1/p' | sort -u)
    for room in coordinator batch graph pipeline; do
        { echo "$below"; echo '==='; grep -oE '[a-z_0-9]+' "$srcdir/lib/$room/internals.h"; echo '==='
            files_of $room | grep -v '/internals\.h$' | code_of | grep -v '# *include' | cut -d: -f3- |
                grep -oE '[a-zA-Z_][a-zA-Z_0-9]*' | sort -u; } |
            awk -v room=$room '
                $0 == "===" { part++; next }
                part == 0 { below[$0] = 1 }
                part == 1 { listed[$0] = 1 }
                part == 2 && ($0 in below) && !($0 in listed) { print room " uses " $0 ": is it in internals.h?" }'
    done
}

# A call from each room to each room above it, and a circle, are found.
unfound_plants() {
    below=
    for layer in $layers; do
        for lower in $below; do
            [ -n "$(echo "$lower/planted $layer/planted f" | upward_calls)" ] ||
                echo "a call from $lower to $layer is not found"
            [ -z "$(echo "$layer/planted $lower/planted f" | upward_calls)" ] ||
                echo "a call from $layer to $lower is refused"
        done
        below="$below $layer"
    done
    [ -n "$(printf 'ops/a ops/b f\nops/b ops/a g\n' | circles)" ] || echo "a circle is not found"
}

unknown_layers() {
    for dir in "$srcdir"/lib/*/; do
        name=$(basename "$dir")
        case " $layers $addons " in
        *" $name "*) ;;
        *) echo "lib/$name" ;;
        esac
    done
}

# An addon's files include the installed headers and their own.
addon_views() {
    for addon in $addons; do
        files_of "$addon" | code_of | includes | grep -v ":$addon/[^:]*\$"
    done
    return 0
}

# What the public side may not see: the tool, the examples and the black-box tests include <clstream...>.
inside_views() {
    for dir in tools examples bench tests/api; do
        find "$srcdir/$dir" -name '*.[ch]'
    done | sort | code_of | includes | while IFS=: read -r file line path; do
        [ ! -e "$srcdir/lib/$path" ] || [ -e "$(dirname "$file")/$path" ] || echo "$file:$line: includes \"$path\" of lib/"
    done
}

# OpenCL's types are named by one public header.
opencl_types_in_headers() {
    header_paths | grep -v '/opencl\.h$' | code_of | grep -E ':.*:.*[^A-Za-z0-9_](cl_[a-z]+|CL/)' || true
}

# A handle tells its type by the number of its pool.
shared_handle_types() {
    # shellcheck disable=SC2086 # words
    files_of $layers | code_of | grep -v '# *define' | sed -n 's/.*OBJECT_POOL[A-Z_]*(\([0-9]*\),.*/\1/p' |
        sort | uniq -d | sed 's/^/two pools of objects have type /'
}

# But those of a device's name and of the checkers' words, which are texts.
environment_readers() {
    grep -rn '[^_a-z]system_variable(' "$srcdir/lib" --include='*.c' |
        grep -v -e lib/base/setting.c -e lib/system/ -e '"CLSTREAM_DEVICE"' -e '"CLSTREAM_CHECK"' || true
}
# A switch over an enumeration names every case, so that the compiler asks for one that is forgotten.
defaults() { grep -n '^ *default:' -r "$srcdir/lib" --include='*.c' || true; }

check "only lib/driver names OpenCL functions" "$(opencl_calls)"
check "includes point down only" "$(upward_includes)"
check "only lib/system starts threads" "$(own_threads)"
check "only lib/system names what is of POSIX or of Windows" "$(outside_the_system)"
check "a planted header, function and macro of a system would be found" "$(unfound_systems)"
all_calls=$(calls)
if [ -n "$all_calls" ]; then
    check "calls point down only" "$(echo "$all_calls" | upward_calls)"
    check "no files of a room call each other in a circle, but for the machine's" "$(echo "$all_calls" | circles)"
else
    skip "calls point down only" "nm says nothing of the objects"
    skip "no files of a room call each other in a circle, but for the machine's" "nm says nothing of the objects"
fi
check "a planted call up, and a planted circle, would be found" "$(unfound_plants)"
check "coordinator, batch, graph and pipeline include the machine through their internals.h" "$(undeclared_uses)"
check "and only the functions that it lists" "$(unlisted_functions)"
check "every folder of lib is a known layer" "$(unknown_layers)"
check "tools, examples, bench and tests/api include no header of lib" "$(inside_views)"
check "lib/mpi includes public headers and its own" "$(addon_views)"
check "only clstream/opencl.h names OpenCL types" "$(opencl_types_in_headers)"
check "but for three texts, only base/setting.c reads the environment" "$(environment_readers)"
check "no switch of lib has a default" "$(defaults)"
check "every pool of objects has a type of its own" "$(shared_handle_types)"
finish
