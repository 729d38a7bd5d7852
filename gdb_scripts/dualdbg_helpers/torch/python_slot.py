"""Which Python object stands for a C++ object of PyTorch: a tensor, a storage, a node of autograd.

Source: ``c10/core/impl/PyObjectSlot.h``. Up to 2.12 a slot is the interpreter and the object, whose lowest bit may say
who owns whom; from 2.13 on it is the object alone. Nodes had the object alone always, as ``pyobj_``.
"""

_OWNS = 1


def python_object(target, record, address):
    """The address of the Python object of the ``record`` at ``address``, 0 where Python has none.

    Raises LayoutMissing, Unreadable.
    """
    layout = target.layout.record(record)
    if "pyobj_slot_" not in layout:
        return target.memory.pointer(address + layout["pyobj_"])
    place = address + layout["pyobj_slot_"] + layout.sizes["pyobj_slot_"] - 8
    return target.memory.pointer(place) & ~_OWNS
