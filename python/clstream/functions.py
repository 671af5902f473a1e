# SPDX-License-Identifier: MIT
"""Element-by-element functions, and the operators of arrays.

One rule for operands: an Array, a NumPy array (which is copied and uploaded) or a number; else TypeError. Arrays
broadcast, and their types combine as elements.result_type() says. A number has the type of the arrays (elements.scalar_of).
"""
import math

import numpy

from . import device_code, layout
from .arrays import (OPS, Array, apart, broadcast_views, empty, matrix_of, op_number, reduce_result, to_device,
                     vector_of)
from .capi import call
from .streams import Stream, stream_of
from .elements import BOOL, UINT8, element_type, exact_parameter, is_number, result_type, scalar_of

# What computes each function: an operation of the C library ("unary exp"), or for each kind of type ("b", "i", "u", "f")
# an expression of device_code.map_elements. Kinds that are missing are refused. "e" is float16 where it is no "f".
_FLOAT = "acos acosh asin asinh atan atanh cosh expm1 log1p log2 log10 sinh tan".split()
UNARY = {
    **{name: {"f": f"unary {name}"} for name in "exp log sin cos tanh sqrt".split()},
    **{name: {"f": f"{name}(a)"} for name in _FLOAT},
    "abs": {"iuf": "unary abs"}, "negative": {"iuf": "unary neg"}, "square": {"iuf": "unary sqr"},
    "sign": {"iuf": "unary sign"}, "ceil": {"iuf": "unary ceil"}, "floor": {"iuf": "unary floor"},
    "positive": {"iuf": "unary copy"}, "reciprocal": {"f": "unary recip"},
    "round": {"iu": "unary copy", "f": "rint(a)"}, "trunc": {"iu": "unary copy", "f": "trunc(a)"},
    "bitwise_invert": {"b": "!a", "iu": "~a"}, "logical_not": {"b": "!a"},
    "isnan": {"iu": "0", "f": "isnan(a) != 0"}, "isinf": {"iu": "0", "f": "isinf(a) != 0"},
    "isfinite": {"iu": "1", "f": "isfinite(a) != 0"}, "signbit": {"f": "signbit(a) != 0"},
}
BINARY = {
    "add": {"iuf": "binary add"}, "subtract": {"iuf": "binary sub"}, "multiply": {"iuf": "binary mul"},
    "divide": {"f": "binary div"}, "maximum": {"iuf": "binary max"}, "minimum": {"iuf": "binary min"},
    "pow": {"iu": "i_pow(a, b)", "f": "binary pow"},
    "floor_divide": {"iu": "i_floordiv(a, b)", "f": "f_floordiv(a, b)"},
    "remainder": {"iu": "i_mod(a, b)", "f": "f_mod(a, b)"},
    **{name: {"buif": f"binary {op}"} for name, op in [("equal", "eq"), ("not_equal", "ne"), ("less", "lt"),
                                                     ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge")]},
    **{name: {"f": f"{name}(a, b)"} for name in ("atan2", "copysign", "hypot")},
    "nextafter": {"e": "half_nextafter(a, b)", "f": "nextafter(a, b)"},
    "logaddexp": {"f": "a == b ? a + log1p((T)1) : fmax(a, b) + log1p(exp(-fabs(a - b)))"},
    "bitwise_and": {"biu": "a & b"}, "bitwise_or": {"biu": "a | b"}, "bitwise_xor": {"biu": "a ^ b"},
    "bitwise_left_shift": {"iu": "(ulong)b < 8 * sizeof(T) ? a << b : 0"},
    "bitwise_right_shift": {"iu": "(ulong)b < 8 * sizeof(T) ? a >> b : a < 0 ? -1 : 0"},
    "logical_and": {"b": "a & b"}, "logical_or": {"b": "a | b"}, "logical_xor": {"b": "a ^ b"},
}
TO_BOOL = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "isfinite", "signbit"}

# The operations of the C library that take a number as a parameter, by the function and the place of the number.
_WITH_NUMBER = {("add", 0): "add_scalar", ("add", 1): "add_scalar", ("multiply", 0): "scale", ("multiply", 1): "scale",
                ("pow", 1): "powf"}


def as_array(value, like, stream=None):
    """An operand that must be an array, on the context of `like`."""
    if isinstance(value, Array):
        return value
    if isinstance(value, numpy.ndarray):
        return to_device(value.copy(), stream_of(stream, like.context))
    raise TypeError(f"{type(value).__name__} is neither an Array nor a NumPy array")


def _first_array(values):
    for value in values:
        if isinstance(value, Array):
            return value
    raise TypeError(f"none of {', '.join(type(value).__name__ for value in values)} is an Array")


def operands(values, stream=None):
    """(arrays and numbers, dtype, shape, stream) by the rule above: the arrays have the one type and broadcast to the shape,
    the numbers are elements of the type."""
    like = _first_array(values)
    stream = stream_of(stream, like.context)
    values = [value if is_number(value) else as_array(value, like, stream) for value in values]
    arrays = [value for value in values if isinstance(value, Array)]
    dtype = result_type(*(array.dtype for array in arrays))
    shape = layout.broadcast_shapes(*(array.shape for array in arrays))
    return [_of_type(value, dtype, stream) if isinstance(value, Array) else scalar_of(dtype, value)
            for value in values], dtype, shape, stream


def _of_type(array, dtype, stream):
    return array if array.dtype == dtype else array.astype(dtype, stream)


def filled(element, shape, stream):
    """A number of operands() as an array."""
    return element if isinstance(element, Array) else empty(shape, element.dtype, stream).fill(element, stream)


def _output(out, shape, dtype, stream):
    if out is None:
        return empty(shape, dtype, stream)
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"the output is {out.dtype} {out.shape}, the result {dtype} {shape}")
    return out


def _as_vector(x, shape):
    """What an array is when it broadcasts to a shape as one vector for all rows of a matrix, or with an element for each
    row: ("rows" or "columns", the columns of the matrix). None if it does so otherwise."""
    lengths = (1,) * (len(shape) - x.ndim) + x.shape
    long = [axis for axis, length in enumerate(lengths) if length != 1]
    if not long or 0 in shape:
        return None
    first, end = long[0], long[-1] + 1
    if lengths[first:] == shape[first:]:
        return "rows", math.prod(shape[first:])
    return ("columns", math.prod(shape[end:])) if lengths[:end] == shape[:end] else None


def _binary_async(number, a, b, out, stream):
    """An operation of the C library on operands(): a vector of a matrix goes by its call, other operands that broadcast by
    strided views."""
    for x, y, suffix in ((a, b, ""), (b, a, "_reversed")):
        if not isinstance(x, Array) or not isinstance(y, Array) or x.shape != out.shape or y.shape == out.shape:
            continue
        form = _as_vector(y, out.shape)
        if form:
            y = y.copy(stream) if y.buffer is out.buffer else y
            call(f"cls_binary_{form[0]}{suffix}_async", number, matrix_of(apart(x, out, stream), form[1]), vector_of(y),
                 matrix_of(out, form[1]), stream.handle)
            return
    a, b = (apart(filled(x, out.shape, stream), out, stream) for x in (a, b))
    if a.shape == b.shape == out.shape:
        call("cls_binary_async", number, a.view, b.view, out.view, stream.handle)
        return
    call("cls_strided_binary_async", number, *broadcast_views(out.shape, a, b, out), stream.handle)


def _implementation(table, name, dtype):
    for kinds, what in table[name].items():
        if dtype.char in kinds or dtype.kind in kinds:
            return what
    raise TypeError(f"{name} of {dtype}")


def elementwise_unary(name, x, out=None, stream=None):
    """out = name(x)."""
    if not isinstance(x, Array):
        raise TypeError(f"{name} of {type(x).__name__}: pass an Array (to_device)")
    stream = stream_of(stream, x.context)
    what = _implementation(UNARY, name, x.dtype)
    out = _output(out, x.shape, BOOL if name in TO_BOOL else x.dtype, stream)
    x = apart(x, out, stream)
    if what.startswith("unary "):
        call("cls_unary_async", OPS["unary"][what[6:]], x.view, out.view, stream.handle)
    else:
        device_code.map_elements(stream, what, out, x)
    return out


def elementwise_binary(name, a, b, out=None, stream=None):
    """out = name(a, b), by the rule for operands."""
    (a, b), dtype, shape, stream = operands((a, b), stream)
    what = _implementation(BINARY, name, dtype)
    out = _output(out, shape, BOOL if name in TO_BOOL else dtype, stream)
    for x, number, place in ((b, a, 0), (a, b, 1)):
        operation = _WITH_NUMBER.get((name, place))
        if operation and not isinstance(number, Array) and what.startswith("binary ") and exact_parameter(number):
            call("cls_unary_param_async", OPS["unary_param"][operation], apart(x, out, stream).view, out.view,
                 float(number), stream.handle)
            return out
    if what.startswith("binary "):
        _binary_async(OPS["binary"][what[7:]], a, b, out, stream)
    else:
        a, b = (apart(filled(x, shape, stream).broadcast_to(shape, stream), out, stream) for x in (a, b))
        device_code.map_elements(stream, what, out, a, b)
    return out


def where(condition, if_true, if_false, out=None, stream=None):
    """Elements of `if_true` where the condition (bool, uint8, int32 or int64) is not 0, else of `if_false`. One of these
    two may be a number."""
    like = _first_array((condition, if_true, if_false))
    condition = as_array(condition, like, stream)
    if is_number(if_true) and is_number(if_false):
        raise TypeError("where of two numbers: make one an array (full), which says the type")
    (a, b), dtype, shape, stream = operands((if_true, if_false), stream)
    shape = layout.broadcast_shapes(condition.shape, shape)
    out = _output(out, shape, dtype, stream)
    condition, a, b = (apart(filled(x, shape, stream), out, stream) for x in (condition, a, b))
    call("cls_strided_where_async", *broadcast_views(shape, condition, a, b, out), stream.handle)
    return out


def clip(x, min=None, max=None, out=None, stream=None):
    """The elements, none less than `min` or greater than `max`."""
    for name, limit in (("maximum", min), ("minimum", max)):
        if limit is not None:
            if isinstance(limit, (Array, numpy.ndarray)) and limit.dtype != x.dtype:
                raise TypeError(f"a limit of {limit.dtype} for an array of {x.dtype}")
            x = elementwise_binary(name, x, limit, stream=stream)
    if out is None:
        return elementwise_unary("positive", x, stream=stream) if min is None and max is None else x
    out._set(0, out.shape, layout.dense_strides(out.shape), x, stream_of(stream, x.context))
    return out


# ---- the operations of the C library, by their names there

def unary(name, x, param=None, out=None, stream=None):
    """out = name(x), or name(x, param) for an operation with a parameter. `out` may be x; by default it is new."""
    number = op_number("unary" if param is None else "unary_param", name)
    if not isinstance(x, Array):
        raise TypeError(f"{name} of {type(x).__name__}: pass an Array (to_device)")
    if x.dtype == BOOL:
        raise TypeError(f"{name} of bool")
    stream = stream_of(stream, x.context)
    element = None if param is None else scalar_of(x.dtype, param)
    out = _output(out, x.shape, x.dtype, stream)
    if param is None:
        call("cls_unary_async", number, x.view, out.view, stream.handle)
    elif x.dtype.kind == "i" and abs(int(element)) >= 2**53:
        raise OverflowError(f"{param}: the parameter of '{name}' is a double, which does not hold it")
    else:
        call("cls_unary_param_async", number, x.view, out.view, float(element), stream.handle)
    return out


def binary(name, a, b, out=None, stream=None):
    """out = name(a, b), by the rule for operands. Comparisons give bool."""
    number = op_number("binary", name)
    (a, b), dtype, shape, stream = operands((a, b), stream)
    comparison = name in ("eq", "ne", "lt", "le", "gt", "ge")
    if dtype == BOOL and not comparison:
        raise TypeError(f"{name} of bool")
    if out is not None and out.dtype == UINT8 and comparison:
        _output(out, shape, UINT8, stream)
    else:
        out = _output(out, shape, BOOL if comparison else dtype, stream)
    _binary_async(number, a, b, out, stream)
    return out


def reduce(name, x, stream=None):
    """A reduction of the whole array, as a NumPy scalar. Waits."""
    stream = stream_of(stream, x.context)
    return reduce_async(name, x, stream).to_host(stream=stream)[()]


def reduce_async(name, x, stream=None):
    """The same as an Array without axes; only submits."""
    number = op_number("reduce", name)
    stream = stream_of(stream, x.context)
    out = empty((), reduce_result(name, x.dtype), stream)
    call("cls_reduce_async", number, x.view, out.view, stream.handle)
    return out


def dot_async(x, y, stream=None):
    """The sum of the products of the elements, as an Array without axes."""
    (x, y), dtype, shape, stream = operands((x, y), stream)
    out = empty((), reduce_result("sum", dtype), stream)
    x, y = x.broadcast_to(shape, stream), y.broadcast_to(shape, stream)
    call("cls_dot_async", x.view, y.view, out.view, stream.handle)
    return out


# ---- operators

_OPERATORS = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
              "mod": "remainder", "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
              "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}
_COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
                "ge": "greater_equal"}


def _is_operand(value):
    return isinstance(value, (Array, numpy.ndarray)) or is_number(value)


def _forward(name):
    return lambda self, other: elementwise_binary(name, self, other) if _is_operand(other) else NotImplemented


def _reflected(name):
    return lambda self, other: elementwise_binary(name, other, self) if _is_operand(other) else NotImplemented


def _in_place(name):
    return lambda self, other: (elementwise_binary(name, self, other, out=self) if _is_operand(other)
                                else NotImplemented)


for _operator, _function in _OPERATORS.items():
    setattr(Array, f"__{_operator}__", _forward(_function))
    setattr(Array, f"__r{_operator}__", _reflected(_function))
    setattr(Array, f"__i{_operator}__", _in_place(_function))
for _operator, _function in _COMPARISONS.items():
    setattr(Array, f"__{_operator}__", _forward(_function))
for _operator, _function in [("neg", "negative"), ("pos", "positive"), ("abs", "abs"), ("invert", "bitwise_invert")]:
    setattr(Array, f"__{_operator}__", lambda self, name=_function: elementwise_unary(name, self))
