# SPDX-License-Identifier: MIT
"""Element types, and the two rules for operands: how types of arrays combine, and which numbers a type holds."""
import numpy

#: cls_dtype by NumPy's type; bool is stored as uint8 with 0 and 1.
DTYPES = {numpy.dtype(name): number for name, number in
          [("bool", 5), ("float32", 1), ("float64", 2), ("float16", 7), ("int32", 3), ("int64", 4), ("uint8", 5),
           ("uint32", 6), ("int8", 9), ("int16", 10), ("uint16", 11)]}
NUMPY_TYPES = {number: dtype for dtype, number in DTYPES.items()}

BOOL, FLOAT32, FLOAT64, FLOAT16, INT32, INT64, UINT8, UINT32, INT8, INT16, UINT16 = DTYPES


def element_type(dtype):
    """NumPy's type of this name or description, if arrays have it."""
    dtype = numpy.dtype(dtype)
    dtype = dtype.newbyteorder("=") if dtype.kind in "iuf" else dtype
    if dtype not in DTYPES:
        raise TypeError(f"{dtype} is no element type of the library: {', '.join(map(str, DTYPES))}")
    return dtype


def dtype_number(dtype):
    """The cls_dtype of a NumPy type."""
    return DTYPES[element_type(dtype)]


def result_type(*dtypes):
    """The type of an operation on arrays of these types: that of the Python array API, which has none for arrays of
    different kinds (bool, integer, float)."""
    if len({"i" if dtype.kind == "u" else dtype.kind for dtype in dtypes}) != 1:
        raise TypeError(f"arrays of {' and '.join(map(str, dict.fromkeys(dtypes)))}: convert one of them first (astype)")
    return numpy.result_type(*dtypes)


def is_number(value):
    """Whether a value is a number of Python's or NumPy's. NumPy's count by their value, not by their type."""
    return isinstance(value, (bool, int, float, numpy.bool_, numpy.integer, numpy.floating))


def scalar_of(dtype, number):
    """A number as an element of a type, which must hold it: OverflowError if it is out of range, TypeError if it is of
    another kind. Floats round it, as they do all numbers."""
    if not is_number(number):
        raise TypeError(f"{type(number).__name__} is not a number")
    if dtype.kind == "b":
        if not isinstance(number, (bool, numpy.bool_)):
            raise TypeError(f"{number} with an array of bool: convert the array first (astype)")
        return dtype.type(number)
    if dtype.kind == "f":
        value = float(number)
        with numpy.errstate(over="ignore"):
            element = dtype.type(value)
        if numpy.isinf(element) and value not in (numpy.inf, -numpy.inf):
            raise OverflowError(f"{number} is beyond {dtype}")
        return element
    if isinstance(number, (float, numpy.floating)):
        raise TypeError(f"{number} with an array of {dtype}: convert the array first (astype)")
    limits = numpy.iinfo(dtype)
    if not limits.min <= int(number) <= limits.max:
        raise OverflowError(f"{number} is beyond {dtype}")
    return dtype.type(int(number))


def exact_parameter(element):
    """Whether a parameter of the C functions, a double that is truncated and saturated, gives this element."""
    return element.dtype.kind == "f" or 0 <= int(element) < 2**53
