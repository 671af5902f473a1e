/* SPDX-License-Identifier: MIT */
/*
 * Memory and events of other processes by clstream/cuda_runtime.h: a second process computes in memory, handles of freed
 * memory and of ended processes are refused, opened memory outlives the process that made it, and processes take turns at
 * memory in the order of events.
 */
#define CLS_CUDA_SHAREABLE
#include "cuda_calls.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { N = 5000, BYTES = N * 4, FROM = 1024 /* where parts begin on any device */, COUNT = 256 };

/* Of the game of turns: processes, and steps of each. */
enum { PLAYERS = 2, STEPS = 20 };

static cls_cuda_module module =
    CLS_CUDA_SOURCE("kernel void add(global int *x, int by) { x[get_global_id(0)] += by; }\n"
                    "kernel void turn(global int *x, int n, int by) {\n"
                    "    for (int i = get_global_id(0); i < n; i += get_global_size(0))\n"
                    "        x[i] = x[i] * 3 + by;\n"
                    "}\n");
static cls_cuda_kernel add = CLS_CUDA_KERNEL(&module, "add");
static cls_cuda_kernel turn = CLS_CUDA_KERNEL(&module, "turn");

/* --- the second process: its standard input and output are pipes --- */

/* Opens memory, adds to a part of it, closes it, and says with which error it ended. */
static cudaError_t child_adds(const cudaIpcMemHandle_t *handle) {
    int *x;
    cudaError_t error = cudaIpcOpenMemHandle((void **)&x, *handle, cudaIpcMemLazyEnablePeerAccess);
    if (error == cudaSuccess)
        error = cls_cuda_launch(&add, COUNT / 64, 64, 0, 0, x + FROM, 5);
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    if (error == cudaSuccess)
        error = cudaIpcCloseMemHandle(x);
    return error;
}

/* Makes memory of one value, and says by which handle others get at it. */
static cudaError_t child_gives(cudaIpcMemHandle_t *handle) {
    char *x;
    cudaError_t error = cudaMalloc((void **)&x, BYTES);
    if (error == cudaSuccess)
        error = cudaMemset(x, 0x21, BYTES);
    if (error == cudaSuccess)
        error = cudaIpcGetMemHandle(handle, x);
    return error;
}

/* What each player gets: all memories, and the event of each. */
struct game {
    int player;
    cudaIpcMemHandle_t memory[PLAYERS];
    cudaIpcEventHandle_t event[PLAYERS];
};

/* Meets the other players, who have all submitted as many steps. */
static cudaError_t meet(void) {
    char byte = 0;
    return write(1, &byte, 1) == 1 && read(0, &byte, 1) == 1 ? cudaSuccess : cudaErrorUnknown;
}

/* Steps on one memory after the other, each behind what other players did there. The host waits for nothing. */
static cudaError_t take_steps(const struct game *game, cudaStream_t stream, int *const *memory,
                              const cudaEvent_t *event) {
    cudaError_t error;
    int blocks = 0;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &turn, 64, 0);
    for (int i = 0; i < STEPS && error == cudaSuccess; i++) {
        const int at = (i + game->player) % PLAYERS;
        error = cudaStreamWaitEvent(stream, event[at], 0);
        if (error == cudaSuccess)
            error = cls_cuda_launch(&turn, blocks, 64, 0, stream, memory[at], N, game->player);
        if (error == cudaSuccess)
            error = cudaEventRecord(event[at], stream);
        if (error == cudaSuccess)
            error = meet();
    }
    return error;
}

static cudaError_t check_memory(const struct game *game, cudaStream_t stream, const int *memory,
                                cudaEvent_t event) {
    static int host[N];
    cudaError_t error = cudaStreamWaitEvent(stream, event, 0);
    int wanted = 0;
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(host, memory, BYTES, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    for (int i = 0; i < STEPS; i++)
        wanted = wanted * 3 + (game->player + (PLAYERS - 1) * i) % PLAYERS;
    for (int i = 0; i < N && error == cudaSuccess; i++)
        if (host[i] != wanted)
            error = cudaErrorUnknown;
    return error;
}

static cudaError_t child_plays(const struct game *game) {
    cudaEvent_t event[PLAYERS];
    cudaStream_t stream;
    int *memory[PLAYERS];
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < PLAYERS && error == cudaSuccess; i++) {
        error = cudaIpcOpenMemHandle((void **)&memory[i], game->memory[i], 1);
        if (error == cudaSuccess)
            error = cudaIpcOpenEventHandle(&event[i], game->event[i]);
    }
    if (error == cudaSuccess)
        error = take_steps(game, stream, memory, event);
    if (error == cudaSuccess)
        error = check_memory(game, stream, memory[game->player], event[game->player]);
    for (int i = 0; i < PLAYERS && error == cudaSuccess; i++) {
        error = cudaIpcCloseMemHandle(memory[i]);
        if (error == cudaSuccess)
            error = cudaEventDestroy(event[i]);
    }
    return error == cudaSuccess ? cudaStreamDestroy(stream) : error;
}

static int child(const char *task) {
    struct {
        cudaError_t error;
        cudaIpcMemHandle_t handle;
    } answer;
    struct game game;
    char wait;
    memset(&answer, 0, sizeof answer);
    if (strcmp(task, "add") == 0) {
        if (read(0, &answer.handle, sizeof answer.handle) != sizeof answer.handle)
            return 3;
        answer.error = child_adds(&answer.handle);
    } else if (strcmp(task, "play") == 0) {
        if (read(0, &game, sizeof game) != sizeof game)
            return 3;
        answer.error = child_plays(&game);
    } else {
        answer.error = child_gives(&answer.handle);
    }
    if (write(1, &answer, sizeof answer) != sizeof answer)
        return 3;
    return read(0, &wait, 1) == 0 ? 0 : 3; /* stays until the other end is closed */
}

struct process {
    pid_t id;
    int in, out; /* to its input, from its output */
};

static struct process start(const char *task) {
    char *arguments[] = {(char *)"test_cuda_ipc", (char *)"child", (char *)(uintptr_t)task, NULL};
    posix_spawn_file_actions_t actions;
    struct process process;
    int in[2], out[2];
    assert_int_equal(pipe(in) || pipe(out), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    for (int i = 0; i < 2; i++) {
        posix_spawn_file_actions_addclose(&actions, in[i]);
        posix_spawn_file_actions_addclose(&actions, out[i]);
    }
    assert_int_equal(posix_spawn(&process.id, "/proc/self/exe", &actions, NULL, arguments, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    process.in = in[1];
    process.out = out[0];
    fcntl(process.in, F_SETFD, FD_CLOEXEC); /* a process that has it keeps this one from its end */
    return process;
}

/* The answer of a process; its handle goes to `handle`, if that is not NULL. */
static cudaError_t answer_of(const struct process *process, cudaIpcMemHandle_t *handle) {
    struct {
        cudaError_t error;
        cudaIpcMemHandle_t handle;
    } answer;
    assert_int_equal(read(process->out, &answer, sizeof answer), sizeof answer);
    if (handle)
        *handle = answer.handle;
    return answer.error;
}

static void end(struct process *process, int signal_number) {
    int status;
    if (signal_number)
        kill(process->id, signal_number);
    close(process->in);
    close(process->out);
    assert_int_equal(waitpid(process->id, &status, 0), process->id);
    if (!signal_number)
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static cudaError_t add_elsewhere(const cudaIpcMemHandle_t *handle) {
    struct process other = start("add");
    cudaError_t error;
    assert_int_equal(write(other.in, handle, sizeof *handle), sizeof *handle);
    error = answer_of(&other, NULL);
    end(&other, 0);
    return error;
}

/* --- tests --- */

/* Whether the device has memory with handles. */
static void need_shareable(void) {
    cls_share_info info = CLS_SHARE_INFO_INIT;
    cls_context context;
    CUDA(cls_cuda_enter(&context));
    OK(cls_context_can_share(context, context, &info));
    if (info.kind == CLS_SHARE_NONE)
        SKIP_BECAUSE("the device shares no memory: %s", info.reason);
}

/* When the system says that a process was started; 0: it does not. */
static unsigned long long start_told(pid_t process) {
    unsigned long long ticks = 0;
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file,
                        "%*d (%*[^)]) %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%*s %*s %*s %*s %llu",
                        &ticks) != 1)
        ticks = 0;
    if (file)
        fclose(file);
    return ticks;
}

/* A handle says when its process was started. */
static void need_known_start(void) {
    const unsigned long long started = start_told(getpid());
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(start_told(getppid()) != started);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        SKIP_BECAUSE("this system tells a process another time of its start than others, as QEMU");
}

/* A device's memory is no file, and few systems let a process take a descriptor that is none. */
static void took(cudaError_t error) {
    if (error == cudaErrorNotSupported)
        SKIP_BECAUSE("%s", cls_last_error_detail());
    CUDA(error);
}

static void other_process_computes(void **state) {
    static int host[N];
    cudaIpcMemHandle_t handle, again;
    size_t before, after, total;
    int *x;
    (void)state;
    need_shareable();
    need_known_start();
    for (int i = 0; i < N; i++)
        host[i] = i;
    CUDA(cudaMemGetInfo(&before, &total));
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMemcpy(x, host, BYTES, cudaMemcpyHostToDevice));
    CUDA(cudaIpcGetMemHandle(&handle, x));
    CUDA(cudaIpcGetMemHandle(&again, x + 7)); /* of the allocation */
    assert_memory_equal(&handle, &again, sizeof handle);
    for (int round = 1; round < 3; round++) {
        took(add_elsewhere(&handle));
        CUDA(cudaMemcpy(host, x, BYTES, cudaMemcpyDeviceToHost));
        for (int i = 0; i < N; i++)
            assert_int_equal(host[i], i + (i >= FROM && i < FROM + COUNT ? 5 * round : 0));
    }
    CUDA(cudaFree(x));
    CUDA(cudaMemGetInfo(&after, &total));
    assert_int_equal(before, after);
}

static void freed_memory_has_no_handle(void **state) {
    cudaIpcMemHandle_t handle, next;
    int *x, *y;
    (void)state;
    need_shareable();
    need_known_start();
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaIpcGetMemHandle(&handle, x));
    CUDA(cudaFree(x));
    CUDA(cudaMalloc((void **)&y, BYTES)); /* likely the same descriptor */
    CUDA(cudaIpcGetMemHandle(&next, y));
    CUDA_IS(cudaErrorInvalidResourceHandle, add_elsewhere(&handle));
    took(add_elsewhere(&next));
    CUDA(cudaFree(y));
    CUDA_IS(cudaErrorInvalidResourceHandle, add_elsewhere(&next));
}

static void ended_process_has_no_handle(void **state) {
    struct process other;
    cudaIpcMemHandle_t handle;
    int *x;
    (void)state;
    need_shareable();
    need_known_start();
    other = start("give");
    CUDA(answer_of(&other, &handle));
    end(&other, 0);
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaIpcOpenMemHandle((void **)&x, handle, 1));
    cudaGetLastError();
}

static void opened_memory_outlives_its_process(void **state) {
    unsigned char host[BYTES];
    struct process other;
    cudaIpcMemHandle_t handle;
    cudaError_t error;
    char *x;
    (void)state;
    need_shareable();
    need_known_start();
    other = start("give");
    CUDA(answer_of(&other, &handle));
    error = cudaIpcOpenMemHandle((void **)&x, handle, cudaIpcMemLazyEnablePeerAccess);
    end(&other, SIGKILL);
    took(error);
    CUDA(cudaMemcpy(host, x, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(host[i], 0x21);
    CUDA_IS(cudaErrorInvalidValue, cudaIpcCloseMemHandle(x + 1));
    CUDA(cudaIpcCloseMemHandle(x));
    CUDA_IS(cudaErrorInvalidDevicePointer, cudaIpcCloseMemHandle(x));
    cudaGetLastError();
}

static void own_process_opens_too(void **state) {
    cudaIpcMemHandle_t handle;
    int *x, *y, value = 0;
    (void)state;
    need_shareable();
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaIpcGetMemHandle(&handle, x));
    CUDA(cudaIpcOpenMemHandle((void **)&y, handle, 0));
    CUDA(cudaMemset(x, 0x31, BYTES));
    CUDA(cudaMemcpy(&value, y + N - 1, sizeof value, cudaMemcpyDeviceToHost));
    assert_int_equal(value, 0x31313131);
    CUDA(cudaFree(x));
    CUDA(cudaMemcpy(&value, y, sizeof value, cudaMemcpyDeviceToHost));
    assert_int_equal(value, 0x31313131);
    CUDA(cudaIpcCloseMemHandle(y));
}

/* Each step of a player ends with a byte, to which an answer comes once all players have made theirs. */
static void have_players_meet(const struct process *players) {
    char byte = 0;
    for (int i = 0; i < PLAYERS; i++)
        assert_int_equal(read(players[i].out, &byte, 1), 1);
    for (int i = 0; i < PLAYERS; i++)
        assert_int_equal(write(players[i].in, &byte, 1), 1);
}

/* NVIDIA's sample simpleIPC has this shape. */
static void processes_take_turns_in_the_order_of_events(void **state) {
    struct process players[PLAYERS];
    struct game game;
    cudaEvent_t event[PLAYERS];
    int *memory[PLAYERS];
    (void)state;
    need_shareable();
    need_known_start();
    for (int i = 0; i < PLAYERS; i++) {
        CUDA(cudaMalloc((void **)&memory[i], BYTES));
        CUDA(cudaMemset(memory[i], 0, BYTES));
        CUDA(cudaIpcGetMemHandle(&game.memory[i], memory[i]));
        CUDA(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming | cudaEventInterprocess));
        CUDA(cudaIpcGetEventHandle(&game.event[i], event[i]));
    }
    cuda_finish();
    took(add_elsewhere(&game.memory[0]));
    CUDA(cudaMemset(memory[0], 0, BYTES));
    cuda_finish();
    for (int i = 0; i < PLAYERS; i++) {
        players[i] = start("play");
        game.player = i;
        assert_int_equal(write(players[i].in, &game, sizeof game), sizeof game);
    }
    for (int i = 0; i < STEPS; i++)
        have_players_meet(players);
    for (int i = 0; i < PLAYERS; i++) {
        CUDA(answer_of(&players[i], NULL));
        end(&players[i], 0);
        CUDA(cudaEventSynchronize(event[i]));
        CUDA(cudaEventQuery(event[i]));
        CUDA(cudaEventDestroy(event[i]));
        CUDA(cudaFree(memory[i]));
    }
}

static void a_destroyed_event_has_no_handle(void **state) {
    const unsigned flags = cudaEventDisableTiming | cudaEventInterprocess;
    cudaIpcEventHandle_t handle, again, next;
    cudaEvent_t event, opened, other;
    (void)state;
    CUDA(cudaEventCreateWithFlags(&event, flags));
    CUDA(cudaIpcGetEventHandle(&handle, event));
    CUDA(cudaIpcGetEventHandle(&again, event));
    assert_memory_equal(&handle, &again, sizeof handle);
    CUDA(cudaIpcOpenEventHandle(&opened, handle));
    CUDA(cudaEventRecord(opened, 0));
    CUDA(cudaEventSynchronize(event));
    CUDA(cudaEventDestroy(event));
    CUDA(cudaEventCreateWithFlags(&other, flags)); /* likely the same descriptor */
    CUDA(cudaIpcGetEventHandle(&next, other));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaIpcOpenEventHandle(&event, handle));
    CUDA(cudaEventQuery(opened));
    CUDA(cudaEventDestroy(opened));
    CUDA(cudaEventDestroy(other));
    cudaGetLastError();
}

static void bad_calls_with_events_are_refused(void **state) {
    cudaIpcMemHandle_t of_memory;
    cudaIpcEventHandle_t handle;
    cudaEvent_t plain, out;
    (void)state;
    memset(&handle, 0, sizeof handle);
    CUDA(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    CUDA_IS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&out, cudaEventInterprocess));
    CUDA_IS(cudaErrorInvalidValue, cudaIpcGetEventHandle(&handle, plain));
    CUDA_IS(cudaErrorInvalidValue, cudaIpcGetEventHandle(NULL, plain));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaIpcOpenEventHandle(&out, handle));
    CUDA_IS(cudaErrorInvalidValue, cudaIpcOpenEventHandle(NULL, handle));
    CUDA(cudaEventDestroy(plain));
    CUDA(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming | cudaEventInterprocess));
    CUDA(cudaIpcGetEventHandle(&handle, plain));
    memcpy(&of_memory, &handle, sizeof of_memory);
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaIpcOpenMemHandle((void **)&out, of_memory, 1));
    CUDA(cudaEventDestroy(plain));
    cudaGetLastError();
}

static void bad_calls_are_refused(void **state) {
    cudaIpcMemHandle_t handle;
    cls_context context;
    char *plain, *ordered, host[64];
    void *out;
    (void)state;
    memset(&handle, 0, sizeof handle);
    CUDA(cls_cuda_enter(&context));
    OK(cls_device_malloc(context, 64, (void **)&plain));
    CUDA(cudaMallocAsync((void **)&ordered, 64, 0));
    CUDA_IS(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, plain));
    assert_non_null(strstr(cls_last_error_detail(), "CLS_CUDA_SHAREABLE"));
    CUDA_IS(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, ordered));
    CUDA_IS(cudaErrorInvalidDevicePointer, cudaIpcGetMemHandle(&handle, host));
    CUDA_IS(cudaErrorInvalidValue, cudaIpcGetMemHandle(NULL, plain));
    CUDA_IS(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, NULL));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaIpcOpenMemHandle(&out, handle, 1));
    CUDA_IS(cudaErrorInvalidValue, cudaIpcOpenMemHandle(NULL, handle, 1));
    CUDA_IS(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&out, handle, 2));
    CUDA_IS(cudaErrorInvalidValue, cudaIpcCloseMemHandle(plain));
    CUDA_IS(cudaErrorInvalidDevicePointer, cudaIpcCloseMemHandle(host));
    CUDA(cudaFree(plain));
    CUDA(cudaFreeAsync(ordered, 0));
    CUDA(cudaDeviceSynchronize());
    cudaGetLastError();
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_process_computes),
        cmocka_unit_test(freed_memory_has_no_handle),
        cmocka_unit_test(ended_process_has_no_handle),
        cmocka_unit_test(opened_memory_outlives_its_process),
        cmocka_unit_test(own_process_opens_too),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(processes_take_turns_in_the_order_of_events),
        cmocka_unit_test(a_destroyed_event_has_no_handle),
        cmocka_unit_test(bad_calls_with_events_are_refused),
    };
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return child(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
