"""How a numpy Generator becomes an argument of compiled loops: its pointers are read from its own C structure.

Numba's own way calls `ctypes.cast`, a Python function, three times at each call of a loop from Python: that takes
longer than all else of the call, and if Ctrl-C comes within it, numba goes on without what it should return, and the
process crashes.
"""

from typing import Any

from numba.core import boxing, cgutils, pythonapi, types

_CGUTILS: Any = cgutils  # which have no types
_BOXING: Any = boxing  # it registers numba's own way
_WAYS: dict[Any, Any] = pythonapi._unboxers.functions
# The first members of numpy's `bitgen_t`, of its documented C interface: the state, and functions that draw from it.
MEMBERS = ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")


def unbox_bit_generator(kind: Any, generator: Any, compiler: Any) -> Any:
    """The instructions that read the pointers of a numpy BitGenerator, which its attribute `capsule` holds."""
    api, builder, context = compiler.pyapi, compiler.builder, compiler.context
    pointers = _CGUTILS.create_struct_proxy(kind)(context, builder)
    pointers.parent = generator
    capsule = api.object_getattr_string(generator, "capsule")
    with builder.if_then(_CGUTILS.is_not_null(builder, capsule)):
        members = context.get_value_type(types.uintp).as_pointer()
        called = _CGUTILS.ir.FunctionType(members, [api.pyobj, api.cstring])
        get_pointer = _CGUTILS.get_or_insert_function(builder.module, called, "PyCapsule_GetPointer")
        bitgen = builder.call(get_pointer, [capsule, context.insert_const_string(builder.module, "BitGenerator")])
        api.decref(capsule)  # the generator holds it too
        with builder.if_then(_CGUTILS.is_not_null(builder, bitgen)):
            for number, member in enumerate(MEMBERS):
                setattr(pointers, member, builder.load(_CGUTILS.gep_inbounds(builder, bitgen, number)))
            pointers.state_address = pointers.state
    return _BOXING.NativeValue(pointers._getvalue(), is_error=_CGUTILS.is_not_null(builder, api.err_occurred()))


def unbox_without_python() -> None:
    """From now on numba compiles loops that unbox generators so, also those of others: the pointers are the same."""
    _WAYS[types.NumPyRandomBitGeneratorType] = unbox_bit_generator
