"""A library with errors that sanitizers find, for ctypes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import support

FAULTS = """\
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

int beyond(int n) {
    int *values = malloc(n * sizeof *values);
    values[0] = n;
    int result = values[n];  // asan
    free(values);
    return result;
}

void copied(char *to, int n) {
    char from[8] = "";
    memcpy(to, from, n);  // memcpy
}

int shifted(int n) {
    return 1 << n;  // ubsan
}

static int counter;

static void *count(void *unused) {
    counter++;  // tsan
    return unused;
}

void raced(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
"""
_FLAGS = {"asan": "address", "ubsan": "undefined", "tsan": "thread"}


def line_of(mark: str) -> int:
    """The line of FAULTS with this comment."""
    return next(at for at, line in enumerate(FAULTS.splitlines(), 1) if line.endswith(f"// {mark}"))


def library(folder: Path, sanitizer: str) -> tuple[Path, dict[str, str]]:
    """FAULTS, compiled for a sanitizer, and what an interpreter that loads it needs in its environment."""
    source, made = folder / "faults.c", folder / f"lib{sanitizer}faults.so"
    source.write_text(FAULTS)
    preloaded = support.sanitizer(sanitizer)
    options = ["-g", "-O0", f"-fsanitize={_FLAGS[sanitizer]}", "-shared", "-fPIC"]
    subprocess.run(["gcc", *options, "-o", made, source], check=True)
    environment = {} if sanitizer == "ubsan" else {"LD_PRELOAD": preloaded}
    if sanitizer == "tsan":  # it may not know where this kernel puts libraries
        starts = (
            subprocess.run([sys.executable, "-c", ""], env=environment, capture_output=True).returncode == 0
        )
        support.require(starts, "a ThreadSanitizer that works with this kernel", outside=True)
    return made, environment
