/* SPDX-License-Identifier: MIT */
/**
 * @file status.h
 * Status codes, and the error detail of each thread.
 *
 * Functions return a cls_status. Results go through out-parameters, which are written only on
 * success.
 *
 * Any function may return CLS_ERROR_INVALID_VALUE, CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_CONTEXT_DESTROYED, CLS_ERROR_OUT_OF_MEMORY and CLS_ERROR_FORKED for the reasons given
 * below, and any function that waits may return CLS_ERROR_WOULD_DEADLOCK. The other headers repeat these only to
 * add to them, and list every other status.
 *
 * A call that has several things to report reports the first of these kinds:
 *
 *   1. the call itself: a forked process, a handle, an argument, objects that do not fit together or
 *      to the device (which of several such mistakes is reported is not promised);
 *   2. a state: a failed command, a poisoned stream, CLS_ERROR_INVALID_STATE, CLS_ERROR_NOT_TIMED;
 *   3. time: CLS_NOT_READY, CLS_ERROR_TIMEOUT.
 *
 * A query of several streams (coordinator.h, task.h) is CLS_NOT_READY until all of them are done,
 * and reports a failure then.
 * CLS_ERROR_WOULD_DEADLOCK and CLS_ERROR_SHUTDOWN concern the thread and the process, and may come
 * before any other.
 */
#ifndef CLSTREAM_STATUS_H
#define CLSTREAM_STATUS_H

#ifdef CLS_PREFIX
#include <clstream/prefix.h>
#endif

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

/** Result of a call. 0 is success, a positive value means "not yet", a negative one is an error. */
typedef enum cls_status {
    /** The call succeeded. */
    CLS_SUCCESS = 0,
    /** The work in question is still pending (query, elapsed time, handing out a cl_event). */
    CLS_NOT_READY = 1,
    /**
     * A null argument that must not be null, an unknown constant, or a size field that types.h
     * does not allow.
     */
    CLS_ERROR_INVALID_VALUE = -1,
    /**
     * A handle that is null where NULL is not allowed, stale (destroyed), of another type, or
     * garbage.
     */
    CLS_ERROR_INVALID_HANDLE = -2,
    /** The context of the object has been destroyed. */
    CLS_ERROR_CONTEXT_DESTROYED = -3,
    /** The objects passed belong to different contexts. */
    CLS_ERROR_WRONG_CONTEXT = -4,
    /** A range ends past the end of its buffer, or a size overflows. */
    CLS_ERROR_OUT_OF_RANGE = -5,
    /**
     * Input and output overlap in a way that the call does not allow: operations may be in place,
     * copies not.
     */
    CLS_ERROR_OVERLAP = -6,
    /** The arrays have different element counts. */
    CLS_ERROR_SIZE_MISMATCH = -7,
    /** The element type of an array does not fit the function or the other arrays. */
    CLS_ERROR_TYPE_MISMATCH = -8,
    /** The device (fp64, SVM ...) or this build of the library (CLBlast) does not support it. */
    CLS_ERROR_UNSUPPORTED = -9,
    /** Host memory, a thread or another resource of the operating system is exhausted. */
    CLS_ERROR_OUT_OF_MEMORY = -10,
    /** Device memory or another resource of the driver is exhausted. */
    CLS_ERROR_OUT_OF_DEVICE_MEMORY = -11,
    /** There is no OpenCL device, or none that matches the request. */
    CLS_ERROR_NO_DEVICE = -12,
    /** The OpenCL C source did not compile; the detail holds the compiler's log. */
    CLS_ERROR_BUILD_FAILED = -13,
    /** There is no such file, kernel or name. */
    CLS_ERROR_NOT_FOUND = -14,
    /** Reading or writing a file failed. */
    CLS_ERROR_IO = -15,
    /** The timeout of a wait expired first. */
    CLS_ERROR_TIMEOUT = -16,
    /** A blocking call inside a host function or callback, which could wait for itself. */
    CLS_ERROR_WOULD_DEADLOCK = -17,
    /** The call would close a cycle of waits; the detail names the cycle. */
    CLS_ERROR_DEADLOCK = -18,
    /** A limit is reached: one set by the caller (fifo_limit), or the number of handles of a type that exist at once.
     * That is 2^26, and 8192 where pointers have 32 bits. */
    CLS_ERROR_LIMIT = -19,
    /** The event has no timestamp: it was never recorded, or was created without timing. */
    CLS_ERROR_NOT_TIMED = -20,
    /** A command failed. Its stream, and the streams that depend on it, are poisoned (stream.h). */
    CLS_ERROR_COMMAND_FAILED = -21,
    /** The driver lost the whole context. */
    CLS_ERROR_CONTEXT_LOST = -22,
    /** The process is exiting, and the library accepts no more work. */
    CLS_ERROR_SHUTDOWN = -23,
    /** The object's state does not allow the call (enter without leave ...). */
    CLS_ERROR_INVALID_STATE = -24,
    /** The driver returned an error code that has no status here; see cls_last_error_code. */
    CLS_ERROR_DRIVER = -25,
    /** The process was forked after its parent had used the library: only the parent may use it. */
    CLS_ERROR_FORKED = -26
} cls_status;

/**
 * Returns the name of a status, for example "CLS_ERROR_OVERLAP".
 * @return a static string; "CLS_UNKNOWN_STATUS" for an unknown value
 */
CLS_API const char *cls_status_string(cls_status status);

/**
 * Describes the calling thread's last failed call in words: the argument at fault, the failed
 * driver call with its code, a compiler's log, or the command that failed.
 * @return a string that is valid until this thread's next failed call; "" before the first one
 */
CLS_API const char *cls_last_error_detail(void);

/**
 * Returns the driver's error code (a cl_int) behind the calling thread's last failed call, or 0.
 */
CLS_API int cls_last_error_code(void);

/**
 * Sets the calling thread's error detail, for libraries built on this one that report as it does.
 * The text is copied; NULL is "".
 */
CLS_API void cls_set_last_error(const char *detail);

/** Clears the calling thread's error detail and error code. */
CLS_API void cls_clear_last_error(void);

CLS_END_DECLS

#endif
