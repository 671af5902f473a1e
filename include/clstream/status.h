/* SPDX-License-Identifier: MIT */
/**
 * @file status.h
 * Status codes and the per-thread error detail.
 *
 * Every call of the library returns a cls_status; results go through
 * out-parameters, which are written only on success.
 *
 * Any call may return CLS_ERROR_INVALID_VALUE, CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED and
 * CLS_ERROR_OUT_OF_MEMORY, as they are described below, and one that waits CLS_ERROR_WOULD_DEADLOCK; headers
 * and functions name them where they say more of them, and all others.
 */
#ifndef CLSTREAM_STATUS_H
#define CLSTREAM_STATUS_H

#if defined(__GNUC__)
#define CLS_API __attribute__((visibility("default")))
#else
#define CLS_API
#endif

#ifdef __cplusplus
#define CLS_BEGIN_DECLS extern "C" {
#define CLS_END_DECLS }
#else
#define CLS_BEGIN_DECLS
#define CLS_END_DECLS
#endif

CLS_BEGIN_DECLS

/** What a call came to. 0 is success, positive is "not yet", negative is an error. */
typedef enum cls_status {
    /** It went well. */
    CLS_SUCCESS = 0,
    /** The work asked about is still pending (query, elapsed time, handing out a cl_event). */
    CLS_NOT_READY = 1,
    /** A null argument where none may be, an unknown constant, a size field that is not of this library. */
    CLS_ERROR_INVALID_VALUE = -1,
    /** A handle that is null where none may be, stale (destroyed), of another type, or garbage. */
    CLS_ERROR_INVALID_HANDLE = -2,
    /** The object's context has been destroyed. */
    CLS_ERROR_CONTEXT_DESTROYED = -3,
    /** Objects of different contexts in a call that needs one. */
    CLS_ERROR_WRONG_CONTEXT = -4,
    /** A range that ends past its buffer, or a size that overflows. */
    CLS_ERROR_OUT_OF_RANGE = -5,
    /** Input and output overlap otherwise than the call allows: operations may be in place, copies may not. */
    CLS_ERROR_OVERLAP = -6,
    /** Arrays of unequal counts. */
    CLS_ERROR_SIZE_MISMATCH = -7,
    /** An array's type is not the one that the function's name or its other arguments ask for. */
    CLS_ERROR_TYPE_MISMATCH = -8,
    /** The device (fp64, SVM ...) or this build (CLBlast) cannot do it. */
    CLS_ERROR_UNSUPPORTED = -9,
    /** Host memory, a thread or another resource of the operating system ran out. */
    CLS_ERROR_OUT_OF_MEMORY = -10,
    /** Device memory or another resource of the driver ran out. */
    CLS_ERROR_OUT_OF_DEVICE_MEMORY = -11,
    /** No OpenCL device at all, or none that matches what was asked for. */
    CLS_ERROR_NO_DEVICE = -12,
    /** OpenCL C did not compile; the detail holds the compiler's log. */
    CLS_ERROR_BUILD_FAILED = -13,
    /** No such file, kernel or name. */
    CLS_ERROR_NOT_FOUND = -14,
    /** Reading or writing a file failed. */
    CLS_ERROR_IO = -15,
    /** The time given to a wait passed first. */
    CLS_ERROR_TIMEOUT = -16,
    /** A blocking call inside a host function or callback, which could wait for itself. */
    CLS_ERROR_WOULD_DEADLOCK = -17,
    /** The call would close a cycle of waits; the detail names it. */
    CLS_ERROR_DEADLOCK = -18,
    /** A limit that the caller configured (fifo_limit) is reached. */
    CLS_ERROR_LIMIT = -19,
    /** An event that holds no time: never recorded, or created without timing. */
    CLS_ERROR_NOT_TIMED = -20,
    /** A command failed; its stream and the streams that depend on it are poisoned. */
    CLS_ERROR_COMMAND_FAILED = -21,
    /** The driver lost the whole context. */
    CLS_ERROR_CONTEXT_LOST = -22,
    /** The process is exiting and the library accepts no more work. */
    CLS_ERROR_SHUTDOWN = -23,
    /** The object is in a state that does not allow the call (enter without leave ...). */
    CLS_ERROR_INVALID_STATE = -24,
    /** The driver answered with a code that has no status of its own; see cls_last_error_code. */
    CLS_ERROR_DRIVER = -25
} cls_status;

/**
 * The name of a status, as "CLS_ERROR_OVERLAP".
 * @return a static string; "CLS_UNKNOWN_STATUS" for a value that is none.
 */
CLS_API const char *cls_status_string(cls_status status);

/**
 * Says what the calling thread's last failed call disliked: the argument, the failing driver call
 * and its code, a compiler's log, or the command that failed.
 * @return a string that stays valid until this thread's next failing call; "" before the first.
 */
CLS_API const char *cls_last_error_detail(void);

/** The driver's own code (a cl_int) behind the calling thread's last failed call, or 0. */
CLS_API int cls_last_error_code(void);

/** Forgets the calling thread's detail and code. */
CLS_API void cls_clear_last_error(void);

CLS_END_DECLS

#endif
