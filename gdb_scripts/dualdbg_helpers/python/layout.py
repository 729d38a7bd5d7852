"""Where the members of CPython's objects lie, by version (64-bit builds).

Source: ``Include/cpython/*.h`` and ``Include/internal/pycore_dict.h`` of each version. Offsets are in bytes from
the object's address; ``HEAD`` is the size of ``PyObject``, 16, or 32 in a free-threaded build.
"""

# tp_flags (Include/object.h)
INLINE_VALUES = 1 << 2
MANAGED_DICT = 1 << 4
HEAP_TYPE = 1 << 9
INT, LIST, TUPLE, BYTES, STR, DICT, EXCEPTION, TYPE = (1 << bit for bit in range(24, 32))

INT_DIGIT_BITS = 30


class PythonLayout:
    """The layout of one CPython version."""

    def __init__(self, version):
        minor = version.minor
        self.version = version
        self.minor = minor
        self.free_threaded = version.free_threaded
        self.head = head = 32 if version.free_threaded else 16
        self.ob_type = head - 8
        self.var_head = head + 8
        self._types(minor)
        self._strings(minor)
        self._containers(minor)
        self._functions(minor)

    def _types(self, minor):
        base = self.var_head - 24  # every member of PyTypeObject moves with the size of its head
        self.tp_name = base + 24
        self.tp_basicsize = base + 32
        self.tp_itemsize = base + 40
        self.tp_flags = base + 168
        self.tp_members = base + 240
        self.tp_base = base + 256
        self.tp_dict = base + 264
        self.tp_dictoffset = base + 288
        self.tp_mro = base + 344
        # 3.8 still has tp_print at the end; 3.12 added tp_watched
        type_size = base + (416 if minor == 8 or minor >= 12 else 408)
        as_async = 24 if minor < 10 else 32  # am_send
        # as_number 36 slots, as_mapping 3, as_sequence 10, as_buffer 2
        self.ht_name = type_size + as_async + 288 + 24 + 80 + 16
        self.ht_qualname = self.ht_name + 16
        self.ht_cached_keys = self.ht_name + 24

    def _strings(self, minor):
        head = self.head
        self.str_length = head
        self.str_state = head + 16
        self.str_kind_bit = 8 if self.free_threaded and minor >= 14 else 2
        self.str_ascii = head + (32 if minor < 12 else 24)  # PEP 623 removed wstr
        self.str_compact = head + (56 if minor < 12 else 40)
        self.bytes_data = self.var_head + 8

    def _containers(self, minor):
        head, var_head = self.head, self.var_head
        self.list_items = var_head
        self.tuple_items = var_head + (8 if minor >= 14 else 0)  # ob_hash
        self.dict_used = head
        self.dict_keys = head + 16
        self.dict_values = head + 24
        self.compact_keys = minor >= 11  # dk_log2_size, kinds of entries
        self.set_used = head + 8
        self.set_mask = head + 16
        self.set_table = head + 24

    def _functions(self, minor):
        self.func_qualname = self.head + (88 if minor < 10 else 24)
        self.exception_args = self.head + 8
