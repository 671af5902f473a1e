# SPDX-License-Identifier: MIT
"""OpenCL C of the package: what the C library has no operation for. Programs are built at the first use in a context."""
import numpy

from . import capi
from .capi import make
from .kernels import launch

#: OpenCL's types of elements in memory by NumPy's; bool is 0 or 1. A float16 is its bits there, and a float as a value.
C_TYPES = {"bool": "uchar", "float32": "float", "float64": "double", "float16": "ushort", "int32": "int", "int64": "long",
           "uint8": "uchar", "uint32": "uint", "int8": "char", "int16": "short", "uint16": "ushort"}
#: What elements of a size are copied as.
_WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}

# Element `index` of an axis, for each of the outer and inner elements.
_TAKE = """
kernel void run(global T *to, global const T *from, long from_offset, global const long *indices, long count,
                long length, long inner)
{
    long i = get_global_id(0);
    long outer = i / (inner * count), k = i / inner % count, index = indices[k];
    index = clamp(index < 0 ? index + length : index, 0L, length - 1);
    to[i] = from[from_offset + (outer * length + index) * inner + i % inner];
}
"""

# One work-item folds the elements of one row: they are `inner` apart.
_FOLD = """
kernel void run(global R_ELEMENT *to, global const T_ELEMENT *from, long from_offset, long count, long inner)
{
    long row = get_global_id(0);
    global const T_ELEMENT *x = from + from_offset + row / inner * inner * count + row % inner;
    T first = T_VALUE(x[0]);
    BEGIN;
    for (long i = 0; i < count; i++) {
        T v = T_VALUE(x[i * inner]);
        STEP;
    }
    to[row] = R_BITS(END);
}
"""

_MAP = """
HELPERS
kernel void run(global R_ELEMENT *to, long to_offset, PARAMETERS)
{
    long i = get_global_id(0);
    ELEMENTS
    to[to_offset + i] = R_BITS(EXPRESSION);
}
"""

# float16 needs no extension of the device. The integer code is that of the C library (cl/narrow.cl), and so are the bits.
_HALF = """
float half_value(ushort bits) {
    int size = bits & 0x7fff, wide = size << 13, normal = wide + (112 << 23);
    int finite = size < 0x400 ? as_int(as_float(wide + (113 << 23)) - 0x1p-14f) : normal;
    return as_float((size < 0x7c00 ? finite : normal + (112 << 23)) | (bits & 0x8000) << 16);
}
ushort half_bits(float value) {
    int all = as_int(value), size = all & 0x7fffffff;
    int normal = (size - (112 << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    int finite = size < 113 << 23 ? as_int(as_float(size) + 0.5f) - (126 << 23) : min(normal, 0x7c00);
    return (size > 0x7f800000 ? 0x7e00 : finite) | (all >> 16 & 0x8000);
}
float half_nextafter(float a, float b) {
    if (isnan(a) || isnan(b) || a == b) return a == b ? b : a + b;
    if (a == 0) return copysign(0x1p-24f, b);
    return half_value(half_bits(a) + ((a < b) == (a > 0) ? 1 : -1));
}
"""

# Floor division as Python's and NumPy's: the remainder has the sign of the divisor. The least integer by -1 does not
# trap, and a division of an integer by 0 gives 0.
_HELPERS = {
    "f_mod": """T f_mod(T a, T b) {
    T m = fmod(a, b);
    return m == 0 ? copysign((T)0, b) : (b < 0) != (m < 0) ? m + b : m;
}""",
    "f_floordiv": """T f_floordiv(T a, T b) {
    if (b == 0) return a / b;
    T m = fmod(a, b), d = (a - m) / b;
    d -= m != 0 && (b < 0) != (m < 0) ? 1 : 0;
    T f = floor(d);
    return d == 0 ? copysign((T)0, a / b) : d - f > (T)0.5 ? f + 1 : f;
}""",
    "i_mod": """T i_mod(T a, T b) {
    if (b == 0 || ((T)-1 < 0 && b == (T)-1)) return 0;
    T m = a % b;
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}""",
    "i_floordiv": """T i_floordiv(T a, T b) {
    if (b == 0) return 0;
    if ((T)-1 < 0 && b == (T)-1) return 0 - a;
    T d = a / b;
    return d - (a % b != 0 && (a < 0) != (b < 0));
}""",
    "i_pow": """T i_pow(T a, T b) {
    if (b < 0) return a == 1 ? 1 : a == (T)-1 ? (b & 1 ? -1 : 1) : 0;
    T r = 1;
    for (; b; b >>= 1, a *= 1u * a) if (b & 1) r *= 1u * a;
    return r;
}""",
}


class _Kernel(capi.Handle):
    """Owned by its context, so it does not keep that."""

    _destroy = "cls_kernel_destroy"


class _Program(capi.Handle):
    _destroy = "cls_program_destroy"


def _types(**dtypes):
    """What a source calls a type of elements T by: T of a value, T_ELEMENT in memory, T_VALUE() and T_BITS() of the one
    from the other."""
    names = {}
    for name, dtype in dtypes.items():
        is_half = dtype.name == "float16"
        names[name] = "float" if is_half else C_TYPES[dtype.name]
        names[f"{name}_ELEMENT"] = C_TYPES[dtype.name]
        names[f"{name}_VALUE(x)"] = "half_value(x)" if is_half else "(x)"
        names[f"{name}_BITS(x)"] = "half_bits(x)" if is_half else "(x)"
    return names


def _kernel(context, source, **names):
    """The kernel of a source in which names stand for types and expressions."""
    kernels = context.__dict__.setdefault("_kernels", {})
    key = (source, *sorted(names.items()))
    if key not in kernels:
        double = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if "double" in names.values() else ""
        types = "".join(f"#define {name} {value}\n" for name, value in names.items())
        half = _HALF if "half_value(x)" in names.values() else ""
        program = _Program(make("cls_program_from_source", context.handle, (double + types + half + source).encode(),
                                b"clstream", None))
        kernels[key] = _Kernel(make("cls_kernel_create", program.handle, b"run"))
    return kernels[key].handle


def take(stream, to, from_, indices, outer, length, inner):
    """to[o, k, i] = from_[o, indices[k], i]."""
    launch(_kernel(stream.context, _TAKE, T=_WORDS[to.dtype.itemsize]), outer * indices.size * inner,
           (to.buffer, from_.buffer, numpy.int64(from_.offset), indices.buffer, numpy.int64(indices.size),
            numpy.int64(length), numpy.int64(inner)), stream)


#: Folds by name: what is before the first element, what each one does, and the result. T is the type of an element v
#: and of the first one, R that of the result.
FOLDS = {
    "sum": ("R s = 0", "s += v", "s"),
    "float_sum": ("R s = 0, c = 0", "R y = v - c, n = s + y; c = isfinite(n) ? (n - s) - y : 0; s = n", "s"),
    "prod": ("R s = 1", "s *= v", "s"),
    "min": ("R s = first", "s = v != v || v < s ? v : s", "s"),
    "max": ("R s = first", "s = v != v || v > s ? v : s", "s"),
    "argmin": ("R k = 0; T s = first", "if (s == s && (v < s || v != v)) { s = v; k = i; }", "k"),
    "argmax": ("R k = 0; T s = first", "if (s == s && (v > s || v != v)) { s = v; k = i; }", "k"),
}


def fold(stream, name, to, from_, rows, count, inner):
    """Folds `count` elements, `inner` apart, to each of `rows` elements."""
    begin, step, end = FOLDS[name]
    kernel = _kernel(stream.context, _FOLD, **_types(T=from_.dtype, R=to.dtype), BEGIN=begin, STEP=step, END=end)
    launch(kernel, rows, (to.buffer, from_.buffer, numpy.int64(from_.offset), numpy.int64(count), numpy.int64(inner)),
           stream)


def map_elements(stream, expression, to, *inputs):
    """to[i] = expression, in which the elements of the inputs are called a and b, and T is their type."""
    names = "ab"[:len(inputs)]
    helpers = "".join(text + "\n" for name, text in _HELPERS.items() if name + "(" in expression)
    source = (_MAP.replace("HELPERS", helpers)
              .replace("PARAMETERS", ", ".join(f"global const T_ELEMENT *in_{n}, long {n}_offset" for n in names))
              .replace("ELEMENTS", " ".join(f"T {n} = T_VALUE(in_{n}[{n}_offset + i]);" for n in names))
              .replace("EXPRESSION", expression))
    arguments = [value for array in inputs for value in (array.buffer, numpy.int64(array.offset))]
    kernel = _kernel(stream.context, source, **_types(T=inputs[0].dtype, R=to.dtype))
    launch(kernel, to.size, (to.buffer, numpy.int64(to.offset), *arguments), stream)
