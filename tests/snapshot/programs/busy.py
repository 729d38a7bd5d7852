"""Computes without end, in Python, in the interpreter and in libraries, to be stopped at any instruction."""

import hashlib
import json
import os
import re
import threading
import zlib

DATA = os.urandom(5000)
TEXT = json.dumps({str(number): [number, str(number) * 3] for number in range(200)})


def work():
    while True:
        hashlib.sha256(zlib.compress(DATA, 1)).hexdigest()
        json.loads(TEXT)
        re.findall(r"(\d+)\s*:", TEXT)
        sorted(TEXT, key=lambda letter: letter * 2)


threading.Thread(target=work, daemon=True).start()
print(f"ready pid={os.getpid()}", flush=True)
work()
