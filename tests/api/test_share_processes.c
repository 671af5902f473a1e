/* SPDX-License-Identifier: MIT */
/* Shareable buffers in two processes, which send each other descriptors over a socket. */
#define _GNU_SOURCE /* memfd_create */
#include "../support/alike.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clstream/mempool.h>
#include <clstream/share.h>

extern char **environ;

enum { WORDS = 2000, BYTES = WORDS * 4, REFUSED = 256 };

/* --- messages, with a descriptor or without --- */

enum request { IMPORT, IMPORT_PART, EXPORT, READ, WRITE };

struct message {
    enum request request;
    uint32_t index, value; /* of a word; an answer has a value, or a status */
    uint64_t bytes;
    cls_buffer_part part;
};

static bool send_message(int socket, const struct message *message, int fd) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec data = {(void *)(uintptr_t)message, sizeof *message};
    struct msghdr parcel = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        parcel.msg_control = &control;
        parcel.msg_controllen = sizeof control.room;
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    return sendmsg(socket, &parcel, MSG_NOSIGNAL) == (ssize_t)sizeof *message;
}

static bool receive_message(int socket, struct message *message, int *fd) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec data = {message, sizeof *message};
    struct msghdr parcel = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof control.room};
    if (recvmsg(socket, &parcel, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *message)
        return false;
    *fd = -1;
    if (CMSG_FIRSTHDR(&parcel))
        memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&parcel)), sizeof *fd);
    return true;
}

/* --- the second process --- */

static cls_status serve(const struct message *asked, cls_buffer *buffer, int *fd, uint32_t *value) {
    const size_t at = 4 * asked->index;
    cls_status status = CLS_SUCCESS;
    *value = asked->value;
    if (asked->request == IMPORT) {
        status = cls_buffer_import(NULL, *fd, asked->bytes, buffer);
        close(*fd);
        *fd = -1;
    } else if (asked->request == IMPORT_PART) {
        status = cls_buffer_import_part(NULL, *fd, &asked->part, buffer);
        close(*fd);
        *fd = -1;
    } else if (asked->request == EXPORT) {
        status = cls_buffer_create_shareable(NULL, asked->bytes, buffer);
        if (!status)
            status = cls_fill(*buffer, 0, asked->bytes, value, 4, NULL);
        if (!status)
            status = cls_buffer_export(*buffer, fd);
    } else if (asked->request == READ) {
        status = cls_copy_d2h(value, *buffer, at, 4, NULL);
    } else {
        status = cls_fill(*buffer, at, 4, value, 4, NULL);
    }
    return status;
}

static int run_second_process(int socket) {
    struct message asked;
    cls_buffer buffer = NULL;
    int fd;
    while (receive_message(socket, &asked, &fd)) {
        struct message answer = asked;
        const cls_status status = serve(&asked, &buffer, &fd, &answer.value);
        if (status)
            answer.value = REFUSED - (uint32_t)status;
        if (!send_message(socket, &answer, fd))
            return 1;
        if (fd >= 0)
            close(fd);
    }
    return buffer && cls_buffer_destroy(buffer) ? 1 : 0;
}

/* --- the first --- */

static struct world {
    pid_t second;
    int socket;
    cls_buffer buffer;
    uint32_t in[WORDS], out[WORDS];
} w;

static void start_second(void) {
    char program[4096] = "", option[] = "--second", number[16];
    char *arguments[] = {program, option, number, NULL};
    int ends[2];
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFD, FD_CLOEXEC), 0);
    snprintf(number, sizeof number, "%d", ends[1]);
    assert_int_equal(posix_spawn(&w.second, program, NULL, NULL, arguments, environ), 0);
    close(ends[1]);
    w.socket = ends[0];
}

static int setup(void **state) {
    (void)state;
    if (!alike_memory.is_shared)
        return 0;
    for (uint32_t i = 0; i < WORDS; i++)
        w.in[i] = i * 2654435761u;
    memset(w.out, 0, sizeof w.out);
    OK(cls_buffer_create_shareable(rig.context, BYTES, &w.buffer));
    OK(cls_copy_h2d(w.buffer, 0, w.in, BYTES, NULL));
    start_second();
    return 0;
}

/* The second process ends once nobody is left to ask it. */
static void end_second(int wanted) {
    int status = -1;
    close(w.socket);
    assert_int_equal(waitpid(w.second, &status, 0), w.second);
    assert_int_equal(status, wanted);
    w.second = 0;
}

static int teardown(void **state) {
    (void)state;
    if (!alike_memory.is_shared)
        return 0;
    if (w.second)
        end_second(0);
    OK(cls_buffer_destroy(w.buffer));
    return 0;
}

/* The answer's value; `fd` goes along and is closed here, or receives one. */
static uint32_t ask_by(const struct message *asked, int *fd) {
    struct message answer = *asked;
    int received;
    assert_true(send_message(w.socket, asked, fd ? *fd : -1));
    if (fd && *fd >= 0)
        close(*fd);
    assert_true(receive_message(w.socket, &answer, &received));
    if (fd)
        *fd = received;
    return answer.value;
}

static uint32_t ask(enum request request, uint32_t index, uint32_t value, uint64_t bytes, int *fd) {
    const struct message asked = {
        .request = request, .index = index, .value = value, .bytes = bytes};
    return ask_by(&asked, fd);
}

static uint32_t import_there(cls_buffer buffer, uint64_t bytes) {
    int fd;
    OK(cls_buffer_export(buffer, &fd));
    return ask(IMPORT, 0, 0, bytes, &fd);
}

/* --- tests --- */

static void test_processes_use_one_memory(void **state) {
    (void)state;
    assert_int_equal(import_there(w.buffer, BYTES), 0);
    for (uint32_t i = 0; i < WORDS; i += 333)
        assert_int_equal(ask(READ, i, 0, 0, NULL), w.in[i]);
    ask(WRITE, 7, 77, 0, NULL);
    assert_int_equal(rig_cell(w.buffer, 7), 77);
    const uint32_t five = 5;
    OK(cls_fill(w.buffer, 4 * 9, 4, &five, 4, NULL));
    assert_int_equal(ask(READ, 9, 0, 0, NULL), 5);
}

static void test_an_opened_handle_is_exported_as_well(void **state) {
    (void)state;
    cls_context other;
    cls_buffer opened;
    other = alike_context(1);
    OK(cls_buffer_open(other, w.buffer, &opened));
    assert_int_equal(import_there(opened, BYTES), 0);
    assert_int_equal(ask(READ, 3, 0, 0, NULL), w.in[3]);
    OK(cls_buffer_destroy(opened));
    OK(cls_context_destroy(other));
}

/* A device's memory has whole units, of 2 MiB for NVIDIA's. */
static void test_another_length_is_refused(void **state) {
    (void)state;
    const uint32_t refused = REFUSED - (uint32_t)CLS_ERROR_SIZE_MISMATCH;
    if (alike_memory.found.kind == CLS_SHARE_HOST_MEMORY) {
        assert_int_equal(import_there(w.buffer, BYTES - 4), refused);
        assert_int_equal(import_there(w.buffer, BYTES + 4), refused);
    }
    assert_int_equal(import_there(w.buffer, BYTES + (8 << 20)), refused);
    assert_int_equal(import_there(w.buffer, BYTES), 0);
}

/* --- parts: memory of pools --- */

static cls_mempool shareable_pool(void) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool pool;
    config.shareable = 1;
    OK(cls_mempool_create(rig.context, &config, &pool));
    return pool;
}

static cls_buffer cells_of(cls_mempool pool, uint32_t value) {
    cls_buffer cells;
    OK(cls_mempool_malloc_async(pool, NULL, BYTES, &cells));
    OK(cls_fill(cells, 0, BYTES, &value, 4, NULL));
    return cells;
}

static uint32_t import_part_there(cls_buffer buffer) {
    struct message asked = {.request = IMPORT_PART};
    int fd;
    OK(cls_buffer_export_part(buffer, &fd, &asked.part));
    return ask_by(&asked, &fd);
}

/* The second allocation is not at the start of its block. It is freed while the other process has it. */
static void test_memory_of_a_pool_is_used_by_both(void **state) {
    (void)state;
    const cls_mempool pool = shareable_pool();
    const cls_buffer first = cells_of(pool, 11), second = cells_of(pool, 22);
    cls_buffer opened, again;
    OK(cls_buffer_open(rig.context, second, &opened));
    assert_int_equal(import_part_there(opened), 0);
    assert_int_equal(ask(READ, WORDS - 1, 0, 0, NULL), 22);
    ask(WRITE, 5, 55, 0, NULL);
    assert_int_equal(rig_cell(second, 5), 55);
    OK(cls_free_async(second, NULL));
    again = cells_of(pool, 33);
    ask(WRITE, 6, 66, 0, NULL);
    assert_int_equal(rig_cell(again, 6), 33);
    assert_int_equal(rig_cell(opened, 6), 66);
    assert_int_equal(rig_cell(first, 6), 11);
    assert_int_equal(ask(READ, 7, 0, 0, NULL), 22);
    OK(cls_buffer_destroy(opened));
    OK(cls_free_async(first, NULL));
    OK(cls_free_async(again, NULL));
    OK(cls_mempool_destroy(pool));
}

static void test_a_whole_memory_is_a_part(void **state) {
    (void)state;
    cls_buffer_part part = {0, 0, 0};
    cls_buffer again;
    int fd;
    assert_int_equal(import_part_there(w.buffer), 0);
    assert_int_equal(ask(READ, 3, 0, 0, NULL), w.in[3]);
    OK(cls_buffer_export_part(w.buffer, &fd, &part));
    assert_int_equal(part.offset, 0);
    assert_int_equal(part.bytes, BYTES);
    part.bytes = 400; /* a part of the part */
    OK(cls_buffer_import_part(rig.context, fd, &part, &again));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d_async(again, 4, w.buffer, 0, 8, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_fill_async(again, 400, 4, &fd, 4, NULL));
    OK(cls_buffer_destroy(again));
    close(fd);
}

static void test_parts_that_do_not_exist_are_refused(void **state) {
    (void)state;
    const cls_mempool pool = shareable_pool();
    const cls_buffer slot = cells_of(pool, 1);
    const cls_buffer_part none = {0, 0, 0};
    cls_buffer_part part = none, bad;
    cls_buffer out = NULL;
    int fd = -77;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_export_part(slot, &fd, &part));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_export_part(w.buffer, NULL, &part));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_export_part(w.buffer, &fd, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_export_part(NULL, &fd, &part));
    assert_true(fd == -77 && !memcmp(&part, &none, sizeof none));
    OK(cls_buffer_export_part(w.buffer, &fd, &part));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_import_part(rig.context, fd, NULL, &out));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_import_part(rig.context, fd, &none, &out));
    bad = part;
    bad.offset = 1;
    bad.bytes = 8;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_import_part(rig.context, fd, &bad, &out));
    bad.offset = SIZE_MAX;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_buffer_import_part(rig.context, fd, &bad, &out));
    bad = part;
    bad.bytes++;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_buffer_import_part(rig.context, fd, &bad, &out));
    bad.memory_bytes++;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_buffer_import_part(rig.context, fd, &bad, &out));
    assert_null(out);
    close(fd);
    OK(cls_free_async(slot, NULL));
    OK(cls_mempool_destroy(pool));
}

/* --- ends --- */

static void test_the_importer_may_die(void **state) {
    (void)state;
    assert_int_equal(import_there(w.buffer, BYTES), 0);
    ask(WRITE, 7, 77, 0, NULL);
    kill(w.second, SIGKILL);
    end_second(SIGKILL);
    assert_int_equal(rig_cell(w.buffer, 7), 77);
    assert_int_equal(rig_cell(w.buffer, WORDS - 1), w.in[WORDS - 1]);
    const uint32_t five = 5;
    OK(cls_fill(w.buffer, 0, BYTES, &five, 4, NULL));
}

static void test_the_exporter_may_die(void **state) {
    (void)state;
    cls_buffer imported;
    int fd = -1;
    assert_int_equal(ask(EXPORT, 0, 99, BYTES, &fd), 99);
    assert_true(fd >= 0);
    OK(cls_buffer_import(rig.context, fd, BYTES, &imported));
    close(fd);
    kill(w.second, SIGKILL);
    end_second(SIGKILL);
    assert_int_equal(rig_cell(imported, WORDS - 1), 99);
    OK(cls_copy_d2d(imported, 0, w.buffer, 0, BYTES, NULL));
    assert_int_equal(rig_cell(imported, WORDS - 1), w.in[WORDS - 1]);
    OK(cls_buffer_destroy(imported));
}

static void test_imports_of_one_memory_are_one(void **state) {
    (void)state;
    cls_buffer imported, again, own;
    int fd = -1, own_fd;
    ask(EXPORT, 0, 99, BYTES, &fd);
    OK(cls_buffer_import(rig.context, fd, BYTES, &imported));
    OK(cls_buffer_import(rig.context, fd, BYTES, &again));
    OK(cls_buffer_export(w.buffer, &own_fd));
    OK(cls_buffer_import(rig.context, own_fd, BYTES, &own));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d_async(imported, 4, again, 0, 8, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d_async(own, 4, w.buffer, 0, 8, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_buffer_import(rig.context, fd, BYTES + 1, &again));
    OK(cls_copy_d2d(own, 0, imported, 0, 8, NULL));
    assert_int_equal(rig_cell(w.buffer, 1), 99);
    OK(cls_buffer_destroy(imported));
    OK(cls_copy_d2d(own, 8, again, 0, 8, NULL));
    OK(cls_buffer_destroy(again));
    OK(cls_buffer_destroy(own));
    close(fd);
    close(own_fd);
}

enum { TEAM = 4, MEETINGS = 50 };

struct meeting {
    pthread_barrier_t barrier;
    int fd;
    cls_buffer handles[TEAM];
};

static bool import_at_once(void *arg, unsigned i) {
    struct meeting *meeting = arg;
    pthread_barrier_wait(&meeting->barrier);
    return !cls_buffer_import(rig.context, meeting->fd, BYTES, &meeting->handles[i]);
}

/* Whose memory no handle of this process names, so that the threads import it anew. */
static void test_imports_at_once_are_one(void **state) {
    (void)state;
    struct meeting meeting;
    assert_int_equal(pthread_barrier_init(&meeting.barrier, NULL, TEAM), 0);
    for (unsigned k = 0; k < MEETINGS; k++) {
        meeting.fd = -1;
        ask(EXPORT, 0, k, BYTES, &meeting.fd);
        assert_int_equal(team_run(TEAM, import_at_once, &meeting), 0);
        for (unsigned i = 1; i < TEAM; i++)
            EXPECT(CLS_ERROR_OVERLAP,
                   cls_copy_d2d_async(meeting.handles[0], 4, meeting.handles[i], 0, 8, NULL));
        for (unsigned i = 0; i < TEAM; i++)
            OK(cls_buffer_destroy(meeting.handles[i]));
        OK(cls_context_synchronize(rig.context));
        close(meeting.fd);
    }
    pthread_barrier_destroy(&meeting.barrier);
}

/* Sealed as an exported one, but without pages, or not for writing. */
static void expect_refused_file(size_t bytes, int seals, bool read_only) {
    char path[64];
    cls_buffer buffer = NULL;
    const int file = memfd_create("other", MFD_ALLOW_SEALING);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)bytes), 0);
    assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | seals), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const int fd = read_only ? open(path, O_RDONLY) : dup(file);
    assert_true(fd >= 0);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_import(rig.context, fd, BYTES, &buffer));
    assert_null(buffer);
    close(fd);
    close(file);
}

static void test_sealed_files_of_others_are_refused(void **state) {
    (void)state;
    expect_refused_file(0, 0, false);
    expect_refused_file(BYTES, F_SEAL_WRITE, false);
    expect_refused_file(BYTES, 0, true);
}

/* A file that somebody can cut short would end a process that uses it. */
static void test_other_descriptors_are_refused(void **state) {
    (void)state;
    cls_buffer buffer = NULL;
    int ends[2];
    const int loose = memfd_create("loose", MFD_ALLOW_SEALING);
    assert_int_equal(pipe(ends), 0);
    assert_true(loose >= 0);
    assert_int_equal(ftruncate(loose, BYTES), 0);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_import(rig.context, -1, BYTES, &buffer));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_buffer_import(rig.context, 0, SIZE_MAX, &buffer));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_import(rig.context, ends[0], BYTES, &buffer));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_import(rig.context, w.socket, BYTES, &buffer));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_import(rig.context, loose, BYTES, &buffer));
    assert_null(buffer);
    close(ends[0]);
    close(ends[1]);
    close(loose);
}

/* A process that has the descriptor cannot change the size. */
static void test_an_exported_memory_keeps_its_size(void **state) {
    (void)state;
    int fd;
    OK(cls_buffer_export(w.buffer, &fd));
    assert_int_not_equal(ftruncate(fd, 0), 0);
    assert_int_not_equal(ftruncate(fd, 2 * BYTES), 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    assert_int_equal(rig_cell(w.buffer, 1), w.in[1]);
}

static void test_bad_arguments(void **state) {
    (void)state;
    cls_buffer plain;
    int fd = -77;
    OK(cls_buffer_create(rig.context, 64, &plain));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_export(plain, &fd));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_export(w.buffer, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_export(NULL, &fd));
    assert_int_equal(fd, -77);
    OK(cls_buffer_destroy(plain));
}

#define TEST(name) SHARED_TEST(name, setup, teardown)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(test_processes_use_one_memory),
        TEST(test_an_opened_handle_is_exported_as_well),
        TEST(test_another_length_is_refused),
        TEST(test_memory_of_a_pool_is_used_by_both),
        TEST(test_a_whole_memory_is_a_part),
        TEST(test_parts_that_do_not_exist_are_refused),
        TEST(test_the_importer_may_die),
        TEST(test_the_exporter_may_die),
        TEST(test_imports_of_one_memory_are_one),
        TEST(test_imports_at_once_are_one),
        TEST(test_other_descriptors_are_refused),
        TEST(test_sealed_files_of_others_are_refused),
        TEST(test_an_exported_memory_keeps_its_size),
        TEST(test_bad_arguments),
    };
    if (argc == 3 && strcmp(argv[1], "--second") == 0)
        return run_second_process(atoi(argv[2]));
    return cmocka_run_group_tests(tests, alike_setup, rig_teardown);
}
