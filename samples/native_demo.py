"""Uses everything in the native sample modules, one step a function."""

from __future__ import annotations

import os
import threading

from sample_path import add_native_modules

add_native_modules()

import sample_capi  # noqa: E402
import sample_pybind  # noqa: E402


def numbers(module):
    total = module.add(1.5, 2.0)
    scaled = module.scale(total, factor=4.0)
    print("numbers:", total, scaled)


def levels(module):
    result = module.outer(1.0, 3)
    print("outer -> helper -> inner_loop:", round(result, 3))


def double(value):
    doubled = value * 2
    return doubled


def callbacks(module):
    here = module.call_back(double, 10.0)
    elsewhere = module.call_back_from_thread(double, 10.0)
    print("callbacks:", here, elsewhere)


def refuse(value):
    raise LookupError(f"no {value}")


def exceptions(module):
    attempts = [
        ("a Python exception", lambda: module.raise_error("raised in C++")),
        ("an exception of the callback", lambda: module.call_back(refuse, 1.0)),
        ("the same, in a C++ thread", lambda: module.call_back_from_thread(refuse, 1.0)),
        ("an argument check", lambda: module.outer(1.0, -1)),
    ]
    if module is sample_pybind:
        attempts += [
            ("std::runtime_error", lambda: module.check_positive(-1.0)),
            ("a C++ type of our own", lambda: module.check_reading(101.0)),
        ]
    for what, attempt in attempts:
        try:
            attempt()
        except Exception as error:
            print(f"{what}: {type(error).__name__}: {error}")


def objects(module):
    first = module.Vec2(3.0, 4.0)
    second = module.Vec2(1.0, 1.0)
    second.x = 2.0
    total = first + second
    longer = first * 2.0
    same = first == module.Vec2(3.0, 4.0)
    with first as entered:
        coordinates = list(entered)
    print("objects:", total, longer, same, coordinates, first.length(), first.norm)


def blocking(module):
    reader, writer = os.pipe()
    answers = []
    thread = threading.Thread(target=lambda: answers.append(module.wait_for_byte(reader)), name="blocked")
    thread.start()
    os.write(writer, b"A")
    thread.join()
    os.write(writer, b"B")
    answers.append(module.wait_for_byte_with_gil(reader))
    os.close(writer)
    os.close(reader)
    print("blocking:", answers)


def main():
    for module in (sample_capi, sample_pybind):
        print(module.__name__)
        numbers(module)
        levels(module)
        callbacks(module)
        exceptions(module)
        objects(module)
        blocking(module)


if __name__ == "__main__":
    main()
