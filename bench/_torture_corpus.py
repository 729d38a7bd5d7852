"""Makes a C++ library of many functions of all shapes, each of which counts its own calls, for bench/torture.py."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

_HEAD = r"""
#include <stdexcept>
#include <string>
#include <vector>
#define COUNT(n) __atomic_fetch_add(&corpus_counts[n], 1, __ATOMIC_RELAXED)
#define API extern "C" __attribute__((noinline, noclone, visibility("default")))
typedef unsigned long word;
struct pair { word one, two; };
struct large { word all[9]; };
extern "C" long corpus_counts[];
"""
# Each has its number and that of a function that it may call, which is a smaller one.
_SHAPES = (
    "API word f{n}(word x, word y) {{ COUNT({n}); return x * {c}u + (y >> 3) + {n}; }}",
    "API word f{n}(word x, word y) {{ COUNT({n}); for (int i = 0; i < 9 && x & 7; i++)"
    " {{ x -= {c}; y += x >> 60; }} return x ^ y; }}",
    "API word f{n}(word x, word y) {{ COUNT({n}); return x & 1 ? f{m}(x >> 1, y + {c}) : f{m}(y, x ^ {c}) + 1; }}",
    "API word f{n}(word x, word y) {{ COUNT({n}); switch (x % 9) {{ case 0: return y; case 1: return y * 3;"
    " case 2: return x + {c}; case 3: return y ^ {c}; case 4: return f{m}(x, 1); case 5: return x | y;"
    " case 6: return x - y; default: return x * y; }} }}",
    "API word f{n}(word x, word y) {{ COUNT({n}); double d = (double)(x & 0xffff) * {c}.5 + (y & 255);"
    " for (int i = 0; i < 3; i++) d = d * 0.5 + i; return (word)d; }}",
    "API word f{n}(word x, word y) {{ COUNT({n}); try {{ if (x % 5 == 0) throw std::runtime_error(\"{n}\");"
    " return f{m}(x, y); }} catch (const std::runtime_error &e) {{ return e.what()[0] + y; }} }}",
    "API word f{n}(word x, word y) {{ COUNT({n}); std::string s(x % 40, 'a' + y % 26); s += \"{n}\";"
    " word h = 0; for (char c : s) h = h * 31 + c; return h; }}",
    "API word f{n}(word x, word y) {{ COUNT({n}); std::vector<word> v; for (word i = 0; i < 5 + (x & 3); i++)"
    " v.push_back(i * y + {c}); word s = 0; for (word one : v) s ^= one << 1; return s; }}",
    "static word __attribute__((noinline)) g{n}(pair p, large l) {{ return p.one * l.all[p.two % 9] + l.all[8]; }}\n"
    "API word f{n}(word x, word y) {{ COUNT({n}); large l; for (int i = 0; i < 9; i++) l.all[i] = x + i * {c};"
    " return g{n}(pair{{x, y}}, l); }}",
    "API word f{n}(word x, word y) {{ COUNT({n}); if (x % 8 == 0) return y; word r = f{n}(x - 1, y * 3 + {c});"
    " asm volatile(\"\" : \"+r\"(r)); return r + 1; }}",  # no loop: each call is one
    "API word f{n}(word x, word y) {{ COUNT({n}); if (__builtin_expect(x == {c}, 0)) throw std::runtime_error(\"x\");"
    " asm volatile(\"\" : \"+r\"(x)); return x / (y | 1) + x % ((y & 63) + 1); }}",
    "static word t{n}[4] = {{{c}, 2, 3, 4}};\n"
    "API word f{n}(word x, word y) {{ COUNT({n}); return t{n}[x & 3] + t{n}[y & 3]; }}",
    "API void f{n}_into(word *to, word x, word y) {{ *to = x * y + {c}; }}\n"
    "API word f{n}(word x, word y) {{ COUNT({n}); word made; f{n}_into(&made, x, y); return made; }}",
)  # fmt: skip
_IN_A_FILE = 250


def make(folder: Path, size: int, seed: int = 1, flags: tuple[str, ...] = ()) -> Path:
    """Make the library with ``size`` functions of the names f0, f1, …; g++ is given ``-O2 -g`` and ``flags``."""
    dice = random.Random(seed)
    files = []
    for first in range(0, size, _IN_A_FILE):
        numbers = range(first, min(first + _IN_A_FILE, size))
        rows = [_HEAD]
        for n in numbers:
            called = max(n - dice.randint(1, 40), 0)
            shape = dice.choice(_SHAPES) if n else _SHAPES[0]
            if called not in numbers:
                rows.append(f'extern "C" word f{called}(word x, word y);')
            rows.append(shape.format(n=n, m=called, c=dice.randint(3, 999)))
        files.append(folder / f"corpus{first}.cpp")
        files[-1].write_text("\n".join(rows))
    whole = folder / "corpus.cpp"
    declared = "\n".join(f'extern "C" word f{n}(word x, word y);' for n in range(size))
    table = ", ".join(f"f{n}" for n in range(size))
    whole.write_text(
        _HEAD.replace('extern "C" long corpus_counts[];', "")
        + f'extern "C" {{ int corpus_size = {size}; long corpus_counts[{size}]; }}\n{declared}\n'
        + f"static word (*const all[])(word, word) = {{{table}}};\n"
        + 'API void corpus_finished() { asm volatile("nop; nop; nop; nop; nop; nop"); }\n'
        + "API word corpus_run(word x) { word sum = 0; for (int i = 0; i < corpus_size; i++)"
        + " sum = sum * 7 + all[i](x + i, i * 3); return sum; }\n"
    )
    made = folder / "libcorpus.so"
    options = ["-O2", "-g", "-fPIC", "-shared", "-pthread", *flags]
    subprocess.run(["g++", *options, "-o", made, whole, *files], check=True)
    return made
