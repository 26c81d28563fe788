"""Compiled loops where numba has a build, the same loops in Python where it has none."""

from __future__ import annotations

from typing import Any

try:
    import numba
    import numba.extending
except ImportError:
    numba = None  # type: ignore[assignment,unused-ignore]

FAST = {"contract", "reassoc", "nsz"}  # sums in any order; infinities and NaN stay what they are


def available() -> bool:
    """Whether numba is installed."""
    return numba is not None


def compiled(function: Any, inline: str = "never") -> Any:
    """The function compiled, its machine code kept on disk; itself without numba."""
    if numba is None:
        return function
    options = {"error_model": "numpy", "fastmath": FAST, "inline": inline}
    try:
        return numba.njit(cache=True, **options)(function)
    except (
        RuntimeError
    ):  # no place to write to, neither beside the source nor at home: compiled in each process
        return numba.njit(**options)(function)


def inlined(function: Any) -> Any:
    """The same for parts of a compiled loop: a call with many arrays would cost a good part of a turn."""
    return compiled(function, inline="always")


def _intrinsic(function: Any) -> Any:
    return numba.extending.intrinsic(function) if numba else lambda V, i, byte: None


@_intrinsic
def prefetch(context: Any, V: Any, i: Any, byte: Any) -> Any:  # pragma: no cover
    """Ask memory for the line that holds this byte of row i of V, without waiting for it."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        stride = builder.extract_value(array.strides, 0)
        at = builder.add(builder.mul(stride, arguments[1]), arguments[2])
        address = builder.gep(builder.bitcast(array.data, pointer), [at])
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        builder.call(ask, [address, number(0), number(3), number(1)])  # to be read, kept near, data
        return context.get_dummy_value()

    return types.void(V, types.intp, types.intp), generate
