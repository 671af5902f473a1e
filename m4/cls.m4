dnl SPDX-License-Identifier: MIT
dnl The checks of this package. All of them leave the user's CFLAGS, LDFLAGS and LIBS as they were and
dnl put what they find into variables of their own.

dnl CLS_CHECK_BLANKS: refuses folders that libtool cannot install into. A source folder with blanks is refused by automake's
dnl own check, unless its name is relative and has none.
AC_DEFUN([CLS_CHECK_BLANKS], [
for cls_dir in "$prefix" "$exec_prefix" "$bindir" "$libdir" "$includedir" "$datarootdir" "$datadir" "$mandir" "$docdir" \
    "$pkgconfigdir"; do
    AS_CASE([$cls_dir], [[*[\ \	]*]],
        [AC_MSG_ERROR([libtool cannot install into a folder with a blank in its name: $cls_dir])])
done
])

dnl CLS_SYSTEM: which half of lib/system is built. For Windows: no pkg-config that knows this machine's libraries, and copies
dnl of the headers that are the same everywhere, because no folder of this machine's headers may be searched.
AC_DEFUN([CLS_SYSTEM], [
AC_REQUIRE([AC_CANONICAL_HOST])
AC_REQUIRE([PKG_PROG_PKG_CONFIG])
AS_CASE([$host_os], [mingw*], [cls_windows=yes], [cls_windows=no])
AM_CONDITIONAL([WINDOWS], [test "x$cls_windows" = xyes])
AS_IF([test "x$cls_windows" = xyes], [
    AC_CHECK_TOOL([DLLTOOL], [dlltool])
    AC_SUBST([SYSTEM_CPPFLAGS], [-D__USE_MINGW_ANSI_STDIO=1])
    AS_IF([test "x$cross_compiling" = xyes && test -z "$PKG_CONFIG_LIBDIR"],
        [AS_CASE([$PKG_CONFIG], [*$host_alias-*], [], [PKG_CONFIG=])])
    cls_headers=
    for cls_header in CL/cl.h xxhash.h uthash.h utlist.h; do
        AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <$cls_header>]])], [], [
            cls_headers=`pwd`/host-include
            $MKDIR_P "$cls_headers"
            cp -RL /usr/include/`echo $cls_header | $SED 's,/.*,,'` "$cls_headers"
            AS_CASE([$cls_header], [xxhash.h], [cp -L /usr/include/xxh3.h "$cls_headers"])])
    done
    AS_IF([test -n "$cls_headers"], [CPPFLAGS="$CPPFLAGS -I$cls_headers"])
], [AC_SEARCH_LIBS([dlopen], [dl])])
])

dnl CLS_CHECK_C11: fails unless the compiler takes C11 with atomics; sets STD_CFLAGS.
AC_DEFUN([CLS_CHECK_C11], [
AC_MSG_CHECKING([whether $CC takes -std=c11 and has atomics])
cls_save_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -std=c11"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <stdatomic.h>
_Static_assert(__STDC_VERSION__ >= 201112L, "C11");
static atomic_ulong counter;
]], [[return (int)atomic_fetch_add(&counter, 1);]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([a C11 compiler with <stdatomic.h> is needed (gcc >= 4.9 or clang >= 3.6)])])
CFLAGS=$cls_save_CFLAGS
AC_SUBST([STD_CFLAGS], [-std=c11])
])

dnl CLS_CHECK_PTHREAD: fails unless threads link with -pthread; sets PTHREAD_CFLAGS and PTHREAD_LIBS.
AC_DEFUN([CLS_CHECK_PTHREAD], [
AC_MSG_CHECKING([whether threads link with -pthread])
cls_save_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -pthread"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <pthread.h>
static void *run(void *arg) { return arg; }
]], [[pthread_t thread; return pthread_create(&thread, 0, run, 0) || pthread_join(thread, 0);]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([POSIX threads are needed])])
CFLAGS=$cls_save_CFLAGS
AC_SUBST([PTHREAD_CFLAGS], [-pthread])
AC_SUBST([PTHREAD_LIBS], [-pthread])
])

dnl CLS_CHECK_OPENCL: the loader: what pkg-config knows, or the caller's OPENCL_LIBS; for Windows else an import library, which the
dnl linker finds, or which is made of the names in cl.h (the conditional MAKE_OPENCL_IMPORTS).
AC_DEFUN([CLS_CHECK_OPENCL], [
cls_make_imports=no
AS_IF([test "x$cls_windows" = xyes && test -z "$OPENCL_LIBS"], [
    cls_save_LIBS=$LIBS
    LIBS="$LIBS -lOpenCL"
    AC_MSG_CHECKING([for an import library of OpenCL.dll])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <CL/cl.h>]], [[return clGetPlatformIDs(0, 0, 0);]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no; it is made of the names in cl.h])
         cls_make_imports=yes])
    OPENCL_LIBS=-lOpenCL
    LIBS=$cls_save_LIBS])
AM_CONDITIONAL([MAKE_OPENCL_IMPORTS], [test "x$cls_make_imports" = xyes])
AS_IF([test -z "$PKG_CONFIG" && test -z "$OPENCL_LIBS"],
    [AC_MSG_ERROR([pkg-config not found. Debian and Ubuntu: apt install pkgconf])])
AS_IF([test "x$cls_windows" = xyes], [AC_SUBST([OPENCL_CFLAGS])
     AC_SUBST([OPENCL_LIBS])],
    [PKG_CHECK_MODULES([OPENCL], [OpenCL], [],
        [AC_MSG_ERROR([no OpenCL loader found. Debian and Ubuntu: apt install ocl-icd-opencl-dev opencl-headers])])])
])

dnl CLS_CHECK_VERSION_SCRIPT: sets the conditional HAVE_VERSION_SCRIPT.
AC_DEFUN([CLS_CHECK_VERSION_SCRIPT], [
AC_MSG_CHECKING([whether the linker takes a version script])
cls_save_LDFLAGS=$LDFLAGS
echo 'TEST_1 { global: main; local: *; };' >conftest.map
LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [cls_version_script=yes], [cls_version_script=no])
rm -f conftest.map
LDFLAGS=$cls_save_LDFLAGS
AC_MSG_RESULT([$cls_version_script])
AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test "x$cls_version_script" = xyes])
])

dnl CLS_PC_NEEDS(MODULE, PREFIX): what clstream.pc says of a module: its name where pkg-config knows it, or else
dnl the flags that it was found by. Adds to PC_REQUIRES, PC_CFLAGS and PC_LIBS.
AC_DEFUN([CLS_PC_NEEDS], [
AS_IF([test -n "$PKG_CONFIG" && $PKG_CONFIG --exists $1],
    [PC_REQUIRES="$PC_REQUIRES $1"],
    [PC_CFLAGS="$PC_CFLAGS $$2_CFLAGS"
     PC_LIBS="$PC_LIBS $$2_LIBS"])
AC_SUBST([PC_REQUIRES])
AC_SUBST([PC_CFLAGS])
AC_SUBST([PC_LIBS])
])

dnl CLS_WITH_CLBLAST: --with-clblast=yes|no|auto; sets CLBLAST_CFLAGS and CLBLAST_LIBS, defines
dnl HAVE_CLBLAST.
AC_DEFUN([CLS_WITH_CLBLAST], [
AC_ARG_WITH([clblast],
    [AS_HELP_STRING([--with-clblast@<:@=yes|no|auto@:>@], [matrix products through CLBlast (default: auto, where it is found)])],
    [], [with_clblast=auto])
AS_CASE([$with_clblast], [yes | no | auto], [],
    [AC_MSG_ERROR([--with-clblast takes yes, no or auto, not $with_clblast])])
cls_clblast=no
AS_IF([test "x$with_clblast" != xno], [
    PKG_CHECK_MODULES([CLBLAST], [clblast], [cls_clblast=yes], [
        AS_IF([test "x$with_clblast" = xyes],
            [AC_MSG_ERROR([CLBlast not found. Debian and Ubuntu: apt install libclblast-dev])])])])
AS_IF([test "x$cls_clblast" = xyes],
    [AC_DEFINE([HAVE_CLBLAST], [1], [Define to 1 if CLBlast is there and wanted.])
     CLS_PC_NEEDS([clblast], [CLBLAST])])
AM_CONDITIONAL([HAVE_CLBLAST], [test "x$cls_clblast" = xyes])
])

dnl CLS_WITH_VKFFT: --with-vkfft=yes|no|auto; VKFFT_CFLAGS says where its header is, where the compiler does not look by
dnl itself. Defines HAVE_VKFFT.
AC_DEFUN([CLS_WITH_VKFFT], [
AC_ARG_WITH([vkfft],
    [AS_HELP_STRING([--with-vkfft@<:@=yes|no|auto@:>@], [Fourier transforms through VkFFT (default: auto, where it is found)])],
    [], [with_vkfft=auto])
AC_ARG_VAR([VKFFT_CFLAGS], [C compiler flags for VkFFT, as -I and the folder of vkFFT.h])
AS_CASE([$with_vkfft], [yes | no | auto], [],
    [AC_MSG_ERROR([--with-vkfft takes yes, no or auto, not $with_vkfft])])
cls_vkfft=no
AS_IF([test "x$with_vkfft" != xno], [
    AC_MSG_CHECKING([for VkFFT])
    cls_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $OPENCL_CFLAGS $VKFFT_CFLAGS"
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#define VKFFT_BACKEND 3
#define CL_TARGET_OPENCL_VERSION 300
#include <vkFFT.h>
]])], [cls_vkfft=yes])
    CPPFLAGS=$cls_save_CPPFLAGS
    AC_MSG_RESULT([$cls_vkfft])
    AS_IF([test "x$cls_vkfft$with_vkfft" = xnoyes],
        [AC_MSG_ERROR([VkFFT not found. Debian and Ubuntu: apt install libvkfft-dev])])])
AS_IF([test "x$cls_vkfft" = xyes],
    [AC_DEFINE([HAVE_VKFFT], [1], [Define to 1 if VkFFT is there and wanted.])])
AM_CONDITIONAL([HAVE_VKFFT], [test "x$cls_vkfft" = xyes])
])

dnl CLS_WITH_MPI: --with-mpi=yes|no|auto|MPICC: the compiler command of an MPI. Sets MPI_CFLAGS and MPI_LIBS, to what
dnl `MPICC -show` says, and MPIEXEC, the launcher of the same name or in the same folder; the conditional HAVE_MPI.
AC_DEFUN([CLS_WITH_MPI], [
AC_ARG_WITH([mpi],
    [AS_HELP_STRING([--with-mpi@<:@=yes|no|auto|MPICC@:>@], [libclstream-mpi, with the MPI of a compiler command (default: auto, mpicc where it is found)])],
    [], [with_mpi=auto])
AC_ARG_VAR([MPIEXEC], [launcher of the MPI's programs, for the tests])
cls_mpi=no
AS_CASE([$with_mpi], [no], [cls_mpicc=], [yes | auto], [cls_mpicc=mpicc], [cls_mpicc=$with_mpi])
AS_IF([test -n "$cls_mpicc"], [
    AC_MSG_CHECKING([for an MPI of version 3 by $cls_mpicc])
    MPI_CFLAGS= MPI_LIBS=
    for cls_flag in `($cls_mpicc -show) 2>/dev/null | $SED 's/^@<:@^ @:>@* *//'`; do
        AS_CASE([$cls_flag],
            [-I* | -D*], [MPI_CFLAGS="$MPI_CFLAGS $cls_flag"],
            [-L* | -l* | -Wl,-rpath* | -Wl,--enable-new-dtags], [MPI_LIBS="$MPI_LIBS $cls_flag"])
    done
    cls_save_CPPFLAGS=$CPPFLAGS
    cls_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $MPI_CFLAGS"
    LIBS="$MPI_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <mpi.h>
#if MPI_VERSION < 3
#error "MPI 3 is needed"
#endif
]], [[int flag; return MPI_Initialized(&flag);]])], [cls_mpi=$cls_mpicc])
    CPPFLAGS=$cls_save_CPPFLAGS
    LIBS=$cls_save_LIBS
    AC_MSG_RESULT([$cls_mpi])
    AS_IF([test "x$cls_mpi" = xno && test "x$with_mpi" != xauto],
        [AC_MSG_ERROR([no MPI found by $cls_mpicc. Debian and Ubuntu: apt install libopenmpi-dev openmpi-bin])])])
AS_IF([test "x$cls_mpi" != xno && test -z "$MPIEXEC"], [
    MPIEXEC=`echo "$cls_mpicc" | $SED 's/mpicc/mpiexec/'`
    command -v "$MPIEXEC" >/dev/null || MPIEXEC=])
AC_SUBST([MPI_CFLAGS])
AC_SUBST([MPI_LIBS])
AC_SUBST([MPICC], [$cls_mpicc])
AM_CONDITIONAL([HAVE_MPI], [test "x$cls_mpi" != xno])
])

dnl CLS_ENABLE_SANITIZERS: --enable-sanitizers[=LIST]; sets SANITIZER_CFLAGS, for compiling and linking.
AC_DEFUN([CLS_ENABLE_SANITIZERS], [
AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@],
        [build with the compiler's sanitizers: "address,undefined" (what a bare option means) or "thread"])],
    [], [enable_sanitizers=no])
AS_CASE([$enable_sanitizers],
    [no], [cls_sanitizers=no],
    [yes], [cls_sanitizers=address,undefined],
    [cls_sanitizers=$enable_sanitizers])
SANITIZER_CFLAGS=
AS_IF([test "x$cls_sanitizers" != xno], [
    SANITIZER_CFLAGS="-fsanitize=$cls_sanitizers -fno-omit-frame-pointer -fno-sanitize-recover=all"
    AC_MSG_CHECKING([whether -fsanitize=$cls_sanitizers links])
    cls_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $SANITIZER_CFLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([the compiler does not link with -fsanitize=$cls_sanitizers])])
    CFLAGS=$cls_save_CFLAGS])
AC_SUBST([SANITIZER_CFLAGS])
AM_CONDITIONAL([SANITIZED], [test "x$cls_sanitizers" != xno])
])

dnl CLS_ENABLE_LTO: sets LTO_CFLAGS, for the objects of the library and its link. A launch passes through five files;
dnl across them the compiler saves a fifth of its instructions. After the sanitizers.
dnl Everything else links without link-time optimization (NO_LTO_CFLAGS), which is quicker, and lets the white-box tests
dnl wrap functions. Such a link takes "fat" objects only, so all objects are fat where they are for link-time
dnl optimization (FAT_CFLAGS, without effect on others): CFLAGS may ask for it too. Where a compiler or CFLAGS have no fat
dnl objects, both are empty, and each link does as CFLAGS say.
AC_DEFUN([CLS_ENABLE_LTO], [
AC_ARG_ENABLE([lto],
    [AS_HELP_STRING([--disable-lto], [build the library without link-time optimization])],
    [], [enable_lto=auto])
AC_MSG_CHECKING([whether fat objects link with -fno-lto])
FAT_CFLAGS= NO_LTO_CFLAGS= cls_fat=no
cls_save_CFLAGS=$CFLAGS
cls_save_LIBS=$LIBS
CFLAGS="-Werror -ffat-lto-objects $CFLAGS"
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int cls_other(void); int cls_other(void) { return 0; }]])], [
    cp conftest.$ac_objext cls_other.$ac_objext
    CFLAGS="$CFLAGS -fno-lto"
    LIBS="cls_other.$ac_objext $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[int cls_other(void);]], [[return cls_other();]])],
        [FAT_CFLAGS=-ffat-lto-objects NO_LTO_CFLAGS=-fno-lto cls_fat=yes])
    rm -f cls_other.$ac_objext])
LIBS=$cls_save_LIBS
CFLAGS=$cls_save_CFLAGS
AC_MSG_RESULT([$cls_fat])
LTO_CFLAGS=
AS_IF([test "x$enable_lto" = xauto && test "x$cls_sanitizers" != xno], [enable_lto=no])
AS_IF([test "x$enable_lto" != xno], [
    AC_MSG_CHECKING([whether $CC optimizes at link time])
    CFLAGS="$CFLAGS -Werror -flto=auto $FAT_CFLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [cls_lto=$cls_fat], [cls_lto=no])
    CFLAGS=$cls_save_CFLAGS
    AC_MSG_RESULT([$cls_lto])
    AS_IF([test "x$cls_lto" = xyes], [LTO_CFLAGS=-flto=auto],
        [test "x$enable_lto" = xyes], [AC_MSG_ERROR([$CC does not take -flto=auto -ffat-lto-objects])])
    enable_lto=$cls_lto])
AC_SUBST([FAT_CFLAGS])
AC_SUBST([LTO_CFLAGS])
AC_SUBST([NO_LTO_CFLAGS])
])

dnl CLS_HIDE_NAMES: sets the conditional HIDE_NAMES where build-aux/hide-names can take the inner names out of a static
dnl library, and PARTIAL_FLAGS, which it needs for that. Tried as the build does it: on an archive, with the user's flags.
dnl After CLS_ENABLE_LTO.
AC_DEFUN([CLS_HIDE_NAMES], [
AC_CHECK_TOOLS([OBJCOPY], [objcopy llvm-objcopy])
AC_MSG_CHECKING([whether a static library can hide its inner names])
rm -rf conftest.dir
mkdir conftest.dir
cls_hidden='__attribute__((visibility("hidden"))) int inner(void);'
echo "$cls_hidden int cls_outer(void); int cls_outer(void) { return inner(); }" >conftest.dir/outer.c
echo "$cls_hidden int inner(void) { return 0; }" >conftest.dir/inner.c
dnl Of LDFLAGS only the choice of a linker is for a partial link.
cls_linker=
for cls_flag in $LDFLAGS; do
    AS_CASE([$cls_flag], [-fuse-ld=* | --ld-path=* | -B*], [cls_linker="$cls_linker $cls_flag"])
done
cls_hide=no
cls_save_LIBS=$LIBS
LIBS="conftest.dir/test.a $LIBS"
dnl With the first flag gcc makes machine code of objects for link-time optimization.
for cls_flag in -flinker-output=nolto-rel ''; do
    PARTIAL_FLAGS="$cls_linker -r -nostdlib $cls_flag"
    rm -f conftest.dir/*.o conftest.dir/*.a
    AS_IF([test -z "$OBJCOPY"], [break])
    {
        for cls_part in outer inner; do
            $CC $CPPFLAGS $FAT_CFLAGS $LTO_CFLAGS $CFLAGS -c conftest.dir/$cls_part.c -o conftest.dir/$cls_part.o
        done
        $AR cr conftest.dir/test.a conftest.dir/outer.o conftest.dir/inner.o &&
            PARTIAL_LINK="$CC $CFLAGS $LTO_CFLAGS $PARTIAL_FLAGS" OBJCOPY="$OBJCOPY" AR="$AR" RANLIB="$RANLIB" \
            $SHELL "$srcdir/build-aux/hide-names" conftest.dir/test.a || rm -f conftest.dir/test.a
    } >&AS_MESSAGE_LOG_FD 2>&1
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[int cls_outer(void); int inner(void); int inner(void) { return 1; }]],
        [[return cls_outer() + inner();]])], [cls_hide=yes])
    AS_IF([test "x$cls_hide" = xyes], [break])
done
LIBS=$cls_save_LIBS
rm -rf conftest.dir
AC_MSG_RESULT([$cls_hide])
AS_IF([test "x$cls_hide" = xno && test "x$enable_static" = xyes],
    [AC_MSG_WARN([the static library will define names without cls_, which programs that link it cannot use themselves])])
AM_CONDITIONAL([HIDE_NAMES], [test "x$cls_hide" = xyes])
AC_SUBST([PARTIAL_FLAGS])
])

dnl CLS_REPRODUCIBLE_TAR: has make dist, with GNU tar, make the same tarball of the same sources wherever it runs: names
dnl sorted, no owners, one date, modes that do not depend on the umask. Adds to the command of automake's rule.
AC_DEFUN([CLS_REPRODUCIBLE_TAR], [
AS_IF([(${TAR-tar} --sort=name --version) >/dev/null 2>&1],
    [cls_tar='--sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX'
     am__tar="TAR_OPTIONS=\"$cls_tar --mtime=@\`\$(SHELL) '\$(top_srcdir)/build-aux/source-date'\`\" $am__tar"])
])

dnl CLS_CMAKE_PACKAGE: sets what the files of cmake/ say: CMAKE_INCLUDEDIR, from the folder of the library where both are
dnl below the prefix; CMAKE_STATIC_LIBS, what the static library links; CMAKE_MPI_CFLAGS and CMAKE_MPI_LIBS, the MPI of
dnl libclstream-mpi; POINTER_SIZE.
AC_DEFUN([CLS_CMAKE_PACKAGE], [
AC_CHECK_SIZEOF([void *])
AC_SUBST([POINTER_SIZE], [$ac_cv_sizeof_void_p])
AC_SUBST([CMAKE_STATIC_LIBS], [`echo $CLBLAST_LIBS $OPENCL_LIBS $PTHREAD_LIBS $LIBM | $SED 's/  */;/g'`])
AC_SUBST([CMAKE_MPI_CFLAGS], [`echo $MPI_CFLAGS | $SED 's/  */;/g'`])
AC_SUBST([CMAKE_MPI_LIBS], [`echo $MPI_LIBS | $SED 's/  */;/g'`])
cls_prefix=$prefix
AS_IF([test "x$prefix" = xNONE], [cls_prefix=$ac_default_prefix])
AC_SUBST([CMAKE_INCLUDEDIR], [`
    prefix=$cls_prefix
    test "x$exec_prefix" != xNONE || exec_prefix=$cls_prefix
    eval "libdir=$libdir includedir=$includedir"
    eval "libdir=$libdir includedir=$includedir"
    case $libdir:$includedir in
    "$prefix"/*:"$prefix"/*)
        echo "$libdir" | $SED "s|^$prefix/||; s|@<:@^/@:>@@<:@^/@:>@*|..|g" | tr -d '\n'
        echo "/$includedir" | $SED "s|^/$prefix||"
        ;;
    *) echo "$includedir" ;;
    esac`])
])

dnl CLS_WARNINGS: sets WARN_CFLAGS to the warnings that this compiler knows, with -Werror if asked for.
dnl -Wmaybe-uninitialized is off: it guesses, and each gcc guesses differently; valgrind and the sanitizers
dnl do not.
AC_DEFUN([CLS_WARNINGS], [
WARN_CFLAGS=
cls_save_CFLAGS=$CFLAGS
for cls_flag in -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
    -Wwrite-strings -Wpointer-arith -Wundef -Wno-maybe-uninitialized; do
    AC_MSG_CHECKING([whether $CC takes $cls_flag])
    CFLAGS="$cls_save_CFLAGS -Werror $cls_flag"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes]); WARN_CFLAGS="$WARN_CFLAGS $cls_flag"], [AC_MSG_RESULT([no])])
done
CFLAGS=$cls_save_CFLAGS
AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])
])
