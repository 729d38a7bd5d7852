"""Addresses of which none holds what a command looks for, or only nearly: freed, half made, wild, unmapped."""

import array
import ctypes
import mmap
import random
import struct
import sys

import torch
from publishing import publish, stop

random.seed(int(sys.argv[1]))
kept = []
addresses = {}


def buffer(name, data):
    block = ctypes.create_string_buffer(data, len(data))
    kept.append(block)
    addresses[name] = ctypes.addressof(block)
    return ctypes.addressof(block)


tensor = torch.arange(6.0).reshape(2, 3)
impl = tensor._cdata
real = ctypes.string_at(impl, 176)
library = int.from_bytes(real[:8], "little")

# Nearly a tensor: the vtable is right, the rest is not.
for i in range(40):
    data = bytearray(real)
    for _ in range(random.randrange(1, 6)):
        place = random.randrange(8, 176)
        data[place] = random.randrange(256)
    buffer(f"tensor_{i}", bytes(data))
for place in range(16, 176, 8):
    data = bytearray(real)
    data[place : place + 8] = struct.pack(
        "<Q", random.choice([0, 1, 8, 0xDEAD, 2**63, 2**64 - 1, impl, library])
    )
    buffer(f"tensor_word_{place}", bytes(data))
buffer("tensor_vtable_only", real[:8] + bytes(168))
buffer("tensor_vtable_and_noise", real[:8] + random.randbytes(168))
freed = torch.arange(50.0).clone()
addresses["freed"] = freed._cdata
del freed

# Nearly an IValue, a Stack.
for tag in [*range(32), 255, 2**31]:
    for name, payload in [
        ("null", 0),
        ("one", 1),
        ("wild", random.getrandbits(64)),
        ("odd", impl + 1),
        ("impl", impl),
        ("code", library),
        ("noise", buffer(f"noise_{tag}", random.randbytes(512))),
    ]:
        buffer(f"ivalue_{tag}_{name}", struct.pack("<QQ", payload, tag))
values = buffer("values", random.randbytes(1600))
buffer("stack_of_noise", struct.pack("<QQQ", values, values + 1600, values + 1600))
buffer("stack_backwards", struct.pack("<QQQ", values + 1600, values, values))
buffer("stack_huge", struct.pack("<QQQ", 4096, 2**62, 2**62))
buffer("stack_null", struct.pack("<QQQ", 0, 0, 0))
buffer("stack_one_null", struct.pack("<QQQ", 0, 16, 16))
itself = buffer("list_head", bytes(64))

# Nearly a Python object.
text = "a string that is long enough"
number = 2**70
sample = [1, 2, 3]
table = {"a": 1}
for name, value, size in [("str", text, 80), ("int", number, 40), ("list", sample, 40), ("dict", table, 48)]:
    raw = ctypes.string_at(id(value), size)
    for i in range(15):
        data = bytearray(raw)
        for _ in range(random.randrange(1, 5)):
            data[random.randrange(16, size)] = random.randrange(256)
        buffer(f"{name}_{i}", bytes(data))
    buffer(f"{name}_cut", raw[:24] + bytes(8))
huge = bytearray(ctypes.string_at(id(text), 80))
huge[16:24] = struct.pack("<q", 2**40)
buffer("str_huge", bytes(huge))
for name, letters in [("narrow", "\u0416" * 12), ("wide", "\U0001f600" * 8)]:
    data = bytearray(ctypes.string_at(id(letters), sys.getsizeof(letters)))
    data[-16:] = b"\xff" * 16
    buffer(f"str_of_no_characters_{name}", bytes(data))
for code in "uw" if sys.version_info >= (3, 13) else "u":
    letters = array.array(code, "letters")
    ctypes.memset(letters.buffer_info()[0], 0xFF, 8)
    kept.append(letters)
    addresses[f"array_of_no_characters_{code}"] = id(letters)
long_list = bytearray(ctypes.string_at(id(sample), 40))
long_list[16:24] = struct.pack("<q", 2**50)
buffer("list_huge", bytes(long_list))

# Places.
region = mmap.mmap(-1, 4096)
view = ctypes.c_char.from_buffer(region)
kept.append(view)
end = ctypes.addressof(view) + 4096
for back in (1, 7, 8, 15, 16, 24):
    addresses[f"end_of_page_{back}"] = end - back
for name, value in [
    ("zero", 0),
    ("one", 1),
    ("low", 4096),
    ("highest", 2**64 - 1),
    ("negative", 2**63),
    ("hole", 2**46),
]:
    addresses[name] = value
for i in range(40):
    addresses[f"wild_{i}"] = random.getrandbits(47)
    addresses[f"heap_{i}"] = id(sample) + random.randrange(-100000, 100000)
    addresses[f"code_{i}"] = library + random.randrange(-100000, 100000)
publish(**addresses)
stop()
