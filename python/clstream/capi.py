# SPDX-License-Identifier: MIT
"""The C library through ctypes: prototypes, structs, and errors as exceptions.

`call("cls_stream_create", ...)` calls a function that returns a cls_status, and raises Error if it fails. ctypes drops
the interpreter's lock during a call, so a thread that waits in the library stops no other.
"""
import collections
import ctypes
import ctypes.util
import enum
import math
import operator
import os
import threading
import time

from ctypes import c_char, c_char_p, c_double, c_int, c_size_t, c_ssize_t, c_uint, c_uint64, c_void_p

FOREVER = 2**64 - 1


class Array(ctypes.Structure):
    _fields_ = [("buffer", c_void_p), ("dtype", c_int), ("offset", c_size_t), ("count", c_size_t)]


class Matrix(ctypes.Structure):
    _fields_ = [("buffer", c_void_p), ("dtype", c_int), ("offset", c_size_t), ("rows", c_size_t),
                ("columns", c_size_t), ("ld", c_size_t), ("stride", c_size_t)]


class Vector(ctypes.Structure):
    _fields_ = [("buffer", c_void_p), ("dtype", c_int), ("offset", c_size_t), ("count", c_size_t), ("step", c_size_t)]


#: The most axes of a Strided.
MAX_DIMENSIONS = 8


class Strided(ctypes.Structure):
    _fields_ = [("buffer", c_void_p), ("dtype", c_int), ("dimensions", c_uint), ("offset", c_size_t),
                ("shape", c_size_t * MAX_DIMENSIONS), ("strides", c_ssize_t * MAX_DIMENSIONS)]


class RandomState(ctypes.Structure):
    _fields_ = [("seed", c_uint64), ("sequence", c_uint64), ("offset", c_uint64)]


class OptimizerState(ctypes.Structure):
    _fields_ = [("steps", c_uint64), ("rate", c_double), ("norm", c_double)]


class Launch(ctypes.Structure):
    _fields_ = [("dims", c_uint), ("global", c_size_t * 3), ("local", c_size_t * 3), ("offset", c_size_t * 3),
                ("reaches", c_void_p), ("n_reaches", c_uint)]


class Part(ctypes.Structure):
    _fields_ = [("buffer", c_void_p), ("offset", c_size_t)]


class SamplerValue(ctypes.Structure):
    _fields_ = [("normalized", c_int), ("addressing", c_int), ("filter", c_int)]


class ArgUnion(ctypes.Union):
    _fields_ = [("buffer", c_void_p), ("image", c_void_p), ("sampler", SamplerValue), ("part", Part),
                ("pointer", c_void_p), ("bytes", ctypes.c_ubyte * 128)]


class Arg(ctypes.Structure):
    _fields_ = [("kind", c_int), ("access", c_int), ("type", c_int), ("size", c_size_t), ("u", ArgUnion)]


class ImageFormat(ctypes.Structure):
    _fields_ = [("order", c_int), ("type", c_int)]


class ImageShape(ctypes.Structure):
    _fields_ = [("kind", c_int), ("format", ImageFormat), ("access", c_int), ("width", c_size_t), ("height", c_size_t),
                ("depth", c_size_t)]


class Sized(ctypes.Structure):
    """A struct that begins with its size. The library takes one of an older header, so fields that are missing at the
    end of a class here have their defaults."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(self), **fields)


class ContextConfig(Sized):
    _fields_ = [("size", c_size_t), ("device", c_char_p)]


class StreamConfig(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("priority", c_int), ("order", c_int), ("wait", c_int),
                ("timing", c_int), ("max_in_flight", c_uint), ("fifo_limit", c_size_t)]


class StreamInfo(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char * 64), ("context", c_void_p), ("priority", c_int)]


class EventConfig(Sized):
    _fields_ = [("size", c_size_t), ("timed", c_int), ("shareable", c_int)]


class TimelineConfig(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("initial", c_uint64), ("signaller", c_void_p)]


class DeviceInfo(Sized):
    _fields_ = [("size", c_size_t), ("type", c_int), ("name", c_char * 128), ("vendor", c_char * 128),
                ("platform", c_char * 128), ("version", c_char * 128), ("driver_version", c_char * 128),
                ("global_memory", c_uint64), ("max_allocation", c_uint64), ("local_memory", c_uint64),
                ("compute_units", ctypes.c_uint32), ("max_work_group", ctypes.c_uint32),
                ("base_align", ctypes.c_uint32), ("has_fp64", c_int), ("unified_memory", c_int),
                ("has_images", c_int), ("extensions", c_char_p), ("c_version", c_char * 128),
                ("max_constant", c_uint64), ("cache_bytes", c_uint64), ("max_work_items", c_size_t * 3),
                ("max_parameters", c_size_t), ("max_image_2d", c_size_t * 2), ("max_image_3d", c_size_t * 3),
                ("max_image_layers", c_size_t), ("max_samplers", ctypes.c_uint32), ("opencl_version", ctypes.c_uint32),
                ("address_bits", ctypes.c_uint32), ("cache_line", ctypes.c_uint32), ("clock_mhz", ctypes.c_uint32),
                ("float_width", ctypes.c_uint32), ("double_width", ctypes.c_uint32), ("has_uuid", c_int),
                ("uuid", ctypes.c_ubyte * 16), ("has_pci", c_int), ("pci_domain", ctypes.c_uint32),
                ("pci_bus", ctypes.c_uint32), ("pci_device", ctypes.c_uint32), ("pci_function", ctypes.c_uint32)]


class KernelInfo(Sized):
    _fields_ = [("size", c_size_t), ("max_group", c_size_t), ("group_multiple", c_size_t),
                ("required_group", c_size_t * 3), ("local_bytes", c_uint64), ("private_bytes", c_uint64),
                ("arguments", ctypes.c_uint32)]


class KernelArgInfo(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char * 128), ("type_name", c_char * 128), ("space", c_int),
                ("image_access", c_int), ("is_const", c_int), ("is_restrict", c_int), ("is_volatile", c_int),
                ("is_pipe", c_int)]


class GemmConfig(Sized):
    _fields_ = [("size", c_size_t), ("transpose_a", c_int), ("transpose_b", c_int), ("alpha", c_double),
                ("beta", c_double), ("batches", c_size_t), ("math", c_int), ("bias_by_row", c_int), ("bias", Vector),
                ("activation", c_int), ("reserved", c_int)]


class SortConfig(Sized):
    _fields_ = [("size", c_size_t), ("descending", c_int), ("begin_bit", c_int), ("end_bit", c_int), ("length", Array)]


class ScanConfig(Sized):
    _fields_ = [("size", c_size_t), ("exclusive", c_int), ("segments", c_int), ("heads", Array), ("segment", c_size_t),
                ("length", Array)]


class OptimizerConfig(Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("nesterov", c_int), ("rate", c_double), ("decay", c_double),
                ("max_norm", c_double), ("momentum", c_double), ("dampening", c_double), ("beta1", c_double),
                ("beta2", c_double), ("epsilon", c_double)]


class FftLayout(ctypes.Structure):
    _fields_ = [("strides", c_size_t * 3), ("distance", c_size_t)]


class FftConfig(Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("dtype", c_int), ("directions", c_int), ("dims", c_uint),
                ("lengths", c_size_t * 3), ("batches", c_size_t), ("signal", FftLayout), ("spectrum", FftLayout),
                ("normalize", c_int), ("reserved", c_int)]


class ValueInfo(Sized):
    _fields_ = [("size", c_size_t), ("dtype", c_int), ("count", c_size_t), ("is_scalar", c_int),
                ("is_result", c_int)]


class CaptureInfo(Sized):
    _fields_ = [("size", c_size_t), ("state", c_int), ("is_origin", c_int), ("nodes", c_uint64), ("streams", c_uint),
                ("name", c_char * 64)]


class GraphConfig(Sized):
    _fields_ = [("size", c_size_t), ("streams", c_uint), ("fuse", c_int), ("background", c_int)]


class GraphDifference(Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("node", c_uint64), ("own", c_uint64), ("other", c_uint64)]


class GraphMemory(Sized):
    _fields_ = [("size", c_size_t), ("used", c_uint64), ("used_high", c_uint64)]


class PoolConfig(Sized):
    _fields_ = [("size", c_size_t), ("strategy", c_int), ("min_streams", c_uint), ("max_streams", c_uint)]


class StreamCounters(Sized):
    _fields_ = [("size", c_size_t), ("submitted", c_uint64), ("completed", c_uint64), ("failed", c_uint64),
                ("commands", c_uint64 * 11), ("bytes_to_device", c_uint64), ("bytes_to_host", c_uint64),
                ("bytes_on_device", c_uint64), ("work_items", c_uint64), ("waits", c_uint64), ("deferred", c_uint64),
                ("stalls", c_uint64), ("in_flight", c_uint64)]


class ShareInfo(Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("gb_per_s", c_double), ("latency_ns", c_double),
                ("reason", c_char * 256)]


#: C's name of each struct, for the test that compares the layouts.
STRUCTS = {
    "cls_array": Array, "cls_matrix": Matrix, "cls_vector": Vector, "cls_strided": Strided, "cls_launch": Launch, "cls_arg": Arg, "cls_context_config": ContextConfig,
    "cls_stream_config": StreamConfig, "cls_stream_info": StreamInfo, "cls_event_config": EventConfig,
    "cls_timeline_config": TimelineConfig, "cls_device_info": DeviceInfo, "cls_kernel_info": KernelInfo,
    "cls_kernel_arg_info": KernelArgInfo, "cls_gemm_config": GemmConfig, "cls_sort_config": SortConfig,
    "cls_value_info": ValueInfo, "cls_share_info": ShareInfo, "cls_capture_info": CaptureInfo,
    "cls_graph_config": GraphConfig, "cls_graph_difference": GraphDifference, "cls_graph_memory": GraphMemory, "cls_pool_config": PoolConfig, "cls_random_state": RandomState,
    "cls_stream_counters": StreamCounters, "cls_optimizer_config": OptimizerConfig,
    "cls_fft_layout": FftLayout, "cls_fft_config": FftConfig,
    "cls_scan_config": ScanConfig, "cls_optimizer_state": OptimizerState, "cls_image_format": ImageFormat, "cls_image_shape": ImageShape,
}

CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)
FOREIGN = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)

# One letter for each parameter: p any pointer or handle, s a string, z size_t, i int or enum, u unsigned, q uint64_t,
# d double, A an array, M a matrix, V a vector, T a view with strides. Behind a colon: what is returned, if it is no status.
PROTOTYPES = """
cls_status_string i:s   cls_last_error_detail :s   cls_last_error_code :i   cls_version_string :s
cls_device_count p   cls_device_get_info zp   cls_device_find sp
cls_device_has_extension zsp
cls_context_create pp   cls_context_destroy p   cls_context_default p   cls_context_default_stream pp
cls_context_get_device pp   cls_context_synchronize p   cls_context_explain ppzp
cls_stream_create ppp   cls_stream_destroy p   cls_stream_query p   cls_stream_synchronize p   cls_stream_wait pq
cls_stream_reset p   cls_stream_wait_event pp   cls_stream_add_callback ppp   cls_stream_get_info pp
cls_stream_get_counters pp   cls_host_function_fail s
cls_timeline_create pp   cls_timeline_destroy p   cls_timeline_signal pq   cls_timeline_query pq
cls_timeline_wait pqq   cls_stream_signal_timeline ppq   cls_stream_wait_timeline ppq
cls_event_create ppp   cls_event_destroy p   cls_event_record pp   cls_event_query p   cls_event_synchronize p
cls_event_wait pq   cls_event_elapsed ppp   cls_event_export pp   cls_event_import pip
cls_buffer_create pzp   cls_buffer_destroy p   cls_buffer_get_size pp   cls_buffer_get_address pp   cls_malloc_async pzp
cls_buffer_get_pointer pp
cls_image_create ppp   cls_image_destroy p   cls_image_from_host pppp   cls_image_to_host pppp
cls_host_alloc pzp   cls_host_free p
cls_context_can_share ppp   cls_buffer_create_shareable pzp   cls_buffer_open ppp   cls_buffer_export pp
cls_buffer_import pizp
cls_copy_h2d_async pzpzp   cls_copy_d2h_async ppzzp   cls_copy_d2d_async pzpzzp
cls_fill_async pzzpzp
cls_cast_async AAp   cls_where_async AAAAp   cls_unary_async iAAp   cls_unary_param_async iAAdp
cls_binary_async iAAAp   cls_reduce_async iAAp   cls_reduce_result_dtype iip   cls_dot_async AAAp
cls_strided_cast_async TTp   cls_strided_where_async TTTTp   cls_strided_binary_async iTTTp
cls_strided_reduce_async iTTp
cls_unary_op_name i:s   cls_unary_param_op_name i:s   cls_binary_op_name i:s   cls_reduce_op_name i:s
cls_random_create pqp   cls_random_destroy p   cls_random_get_state ppp   cls_random_set_state_async ppp
cls_random_uniform_async pAddp   cls_random_normal_async pAddp   cls_random_integers_async pAqp
cls_random_bernoulli_async pAdp   cls_dropout_async pAAAdp
cls_optimizer_create pppzp   cls_optimizer_destroy p   cls_optimizer_step_async ppzp
cls_optimizer_set_rate_async pdp   cls_optimizer_get_state ppp   cls_optimizer_set_state_async ppp
cls_fft_plan_create ppp   cls_fft_plan_destroy p   cls_fft_async pAAip   cls_fft_available :i
cls_gemm_async MMMpp   cls_blas_available :i
cls_softmax_async MMp   cls_log_softmax_async MMp   cls_cross_entropy_async MVVp
cls_cross_entropy_gradient_async MVVMdp   cls_layer_norm_async MVVdMp   cls_rms_norm_async MVdMp
cls_scatter_rows_async MVMAp   cls_scatter_add_rows_async MVMAp   cls_select_rows_async MVMAp
cls_layer_norm_gradient_async MVdMMVVp   cls_rms_norm_gradient_async MVdMMVp
cls_sort_rows_async MMpp   cls_argsort_rows_async MMpp   cls_top_k_async AAApp
cls_scan_async iAApp   cls_compact_async AAAAAp   cls_compact_if_async AipAAAp   cls_partition_async AAAAAp
cls_histogram_even_async AppAAp   cls_histogram_range_async AAAAp
cls_lower_bound_async AAAAp   cls_upper_bound_async AAAAp
cls_unique_async AAAAp   cls_run_length_encode_async AAAAAp   cls_reduce_by_key_async iAAAAAAp
cls_reduce_rows_async iMVp   cls_reduce_columns_async iMVp   cls_transpose_async MMp
cls_binary_rows_async iMVMp   cls_binary_rows_reversed_async iMVMp
cls_binary_columns_async iMVMp   cls_binary_columns_reversed_async iMVMp
cls_program_from_source psssp   cls_program_load pssp   cls_program_destroy p
cls_program_get_binary ppzp   cls_program_from_binary ppzp   cls_program_from_il ppzssp
cls_kernel_create psp   cls_kernel_destroy p   cls_kernel_launch_async pppup
cls_kernel_get_info pp   cls_kernel_get_arg_info pup   cls_kernel_suggest_local ppp
cls_batch_create ppp   cls_batch_destroy p   cls_batch_upload ppizp   cls_batch_array pAp   cls_batch_scalar pipp
cls_batch_bind_upload pqp   cls_batch_bind_array pqA   cls_batch_bind_scalar pqp
cls_batch_unary piqp   cls_batch_unary_param piqdp   cls_batch_binary piqqp   cls_batch_where pqqqp
cls_batch_cast pqip   cls_batch_reduce piqp   cls_batch_dot pqqp   cls_batch_gemm pqqzzzpp
cls_batch_binary_rows piqqp   cls_batch_binary_columns piqqp
cls_batch_reduce_rows piqzp   cls_batch_reduce_columns piqzp   cls_batch_softmax pqzp   cls_batch_log_softmax pqzp
cls_batch_layer_norm pqzqqdp   cls_batch_rms_norm pqzqdp   cls_batch_dropout ppqdpp
cls_batch_keep pq   cls_batch_store pqA   cls_batch_execute_async pp   cls_batch_read pqp
cls_batch_get_value pqp   cls_batch_get_source pupzp
cls_stream_begin_capture ps   cls_stream_end_capture pp   cls_stream_get_capture pp
cls_stream_begin_capture_from psp   cls_stream_get_capture_nodes ppup   cls_stream_set_capture_nodes ppu
cls_stream_add_capture_nodes ppu   cls_stream_wait_external_event pp   cls_graph_compare ppp
cls_context_get_graph_memory pp   cls_context_reset_graph_memory_peak p   cls_context_trim_graph_memory p
cls_graph_destroy p   cls_graph_get_nodes pp   cls_graph_instantiate ppp   cls_graph_exec_destroy p
cls_graph_launch_async pp   cls_graph_bind ppp   cls_graph_bind_host ppp   cls_graph_update pp
cls_graph_bind_image ppp
cls_pool_create ppp   cls_pool_destroy p   cls_pool_get pp   cls_pool_lease pp   cls_pool_release pp
cls_context_wrap ppp   cls_buffer_wrap ppp   cls_stream_wrap ppp   cls_context_get_cl ppp   cls_buffer_get_cl pp
cls_event_get_cl pp   cls_event_wait_cl pqp   cls_stream_wait_cl pp   cls_stream_foreign_async pspp
"""

def integer(value, low=0, high=2**64 - 1, name="a number"):
    """The value of an integer of Python or NumPy that lies within the limits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {type(value).__name__}, not an integer") from None
    if not low <= number <= high:
        raise (ValueError if number < low == 0 else OverflowError)(f"{name} is {number}, not from {low} to {high}")
    return number


_LETTERS = {"p": c_void_p, "s": c_char_p, "z": c_size_t, "i": c_int, "u": c_uint, "q": c_uint64, "d": c_double,
            "A": Array, "M": Matrix, "V": Vector, "T": Strided}
_LIMITS = {"z": (0, 2**(8 * ctypes.sizeof(c_size_t)) - 1), "i": (-2**31, 2**31 - 1), "u": (0, 2**32 - 1),
           "q": (0, 2**64 - 1)}


def prototypes():
    """The table as (name, parameters, result); the result is "i" for a status."""
    words = PROTOTYPES.split()
    for name, types in zip(words[::2], words[1::2]):
        parameters, _, result = types.partition(":")
        yield name, parameters, result or "i"


def _load():
    path = os.environ.get("CLSTREAM_LIBRARY") or ctypes.util.find_library("clstream") or "libclstream.so.0"
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"the shared library of clStream was not found ({error}): install it, or set "
                          "CLSTREAM_LIBRARY to the path of libclstream.so") from None
    for name, parameters, result in prototypes():
        function = getattr(library, name)
        function.argtypes = [_LETTERS[letter] for letter in parameters]
        function.restype = _LETTERS[result]
    return library


lib = _load()

#: The integer parameters of each function: (place, lowest value, highest value).
_INTEGERS = {name: [(place, *_LIMITS[letter]) for place, letter in enumerate(parameters) if letter in _LIMITS]
             for name, parameters, _ in prototypes()}


def invoke(name, args):
    """Calls a function, with integers that its parameters hold. ctypes alone would take the low bits of others."""
    args = list(args)
    for place, low, high in _INTEGERS[name]:
        if type(args[place]) is not int or not low <= args[place] <= high:
            args[place] = integer(args[place], low, high, "an argument")
    return getattr(lib, name)(*args)


def _statuses():
    names = {"SUCCESS": 0, "NOT_READY": 1}
    for value in range(-1, -1000, -1):
        name = lib.cls_status_string(value).decode()
        if not name.startswith("CLS_ERROR_"):
            break
        names[name[len("CLS_"):]] = value
    return enum.IntEnum("Status", names)


Status = _statuses()
Status.__doc__ = "What a call of the C library returned."


#: The latest exceptions in functions of Python's: what the library was told of each, and the traceback.
tracebacks = collections.deque(maxlen=32)


class Error(RuntimeError):
    """A call that failed: `status` (a Status), `detail` (in words), `code` (the OpenCL driver's, or 0)."""

    def __init__(self, status, detail=None, code=None):
        self.status = Status(status)
        self.detail = lib.cls_last_error_detail().decode(errors="replace") if detail is None else detail
        self.code = lib.cls_last_error_code() if code is None else code
        #: The traceback, as text, of the exception in a function of Python's that made the work fail; or None.
        self.traceback = next((trace for text, trace in reversed(list(tracebacks)) if text in self.detail), None)
        super().__init__(f"CLS_{self.status.name}: {self.detail}")

    def __reduce__(self):
        return Error, (int(self.status), self.detail, self.code)


def check(status):
    """Raises Error unless the status is that of a success."""
    if status:
        raise Error(status)


def call(name, *args):
    check(invoke(name, args))


def unless(pending, name, *args):
    """Calls a function that asks or waits: False if it returns `pending`."""
    status = invoke(name, args)
    if status == pending:
        return False
    check(status)
    return True


def make(name, *args, type=c_void_p):
    """Calls a function whose last parameter receives its result, and returns that."""
    out = type()
    call(name, *args, ctypes.byref(out))
    return out.value


def text_of(name, *args):
    """Calls a function with the text parameters of snprintf, and returns the text."""
    length, size = c_size_t(), 0
    while True:
        buffer = ctypes.create_string_buffer(size) if size else None
        call(name, *args, buffer, size, ctypes.byref(length))
        if length.value < size:
            return buffer.value.decode(errors="replace")
        size = length.value + 1


# ---- waits

#: The longest time, in nanoseconds, that one call of the library waits. Between two calls the interpreter runs the
#: handlers of signals, so that Ctrl-C ends a wait.
_SLICE = 50_000_000


def nanoseconds(seconds):
    """A timeout of the C functions; None and infinity are no limit."""
    if seconds is None or seconds == math.inf:
        return FOREVER
    if math.isnan(seconds):
        raise ValueError("the timeout is not a number")
    return max(0, min(int(seconds * 1e9), FOREVER - 1))


def wait(name, *args, timeout=None, out=()):
    """Calls a function whose last parameter but `out` is a timeout: with slices of the time until it returns something
    else than CLS_ERROR_TIMEOUT, or `timeout` seconds are over, which is False."""
    left = nanoseconds(timeout)
    end = None if left == FOREVER else time.monotonic_ns() + left
    while True:
        status = invoke(name, (*args, min(left, _SLICE), *out))
        if status != Status.ERROR_TIMEOUT:
            check(status)
            return True
        if end is not None:
            left = end - time.monotonic_ns()
            if left <= 0:
                return False


def wait_aside(name, *args):
    """Calls a function that waits and takes no timeout. A thread calls it, because a signal ends join() alone."""
    failed = []

    def work():
        try:
            call(name, *args)
        except Error as error:
            failed.append(error)
    if threading.current_thread() is not threading.main_thread():
        call(name, *args)  # no signal comes here, and only the thread of a host function is refused to wait
        return
    thread = threading.Thread(target=work, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the interpreter ends
        work()
    else:
        thread.join()
    if failed:
        raise failed[0]


class Handle:
    """The owner of a handle of the library, destroyed with the object or by close(). It names an object of this
    process, so it can be neither copied nor pickled."""

    _destroy = ""
    _handle = None

    def __init__(self, handle, owned=True):
        self._handle = handle
        self._owned = owned

    @property
    def handle(self):
        """The handle, as the C functions take it."""
        if self._handle is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._handle

    def close(self):
        """Destroys the handle; submitted work still completes."""
        handle, self._handle = self._handle, None
        if handle and self._owned:
            getattr(lib, self._destroy)(handle)

    def __del__(self):
        self.close()

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} belongs to this process: it cannot be copied or pickled")
