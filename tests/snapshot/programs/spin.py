"""A main thread that computes in C for a minute, without the GIL."""

import hashlib
import os


def spin():
    return hashlib.pbkdf2_hmac("sha256", b"word", b"salt" * 8, 300_000_000)


print(f"ready pid={os.getpid()}", flush=True)
spin()
