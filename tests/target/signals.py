"""Write what a program sees of its signals into a file: the same with a debugger and without. CPython 3.8 and later.

With a second argument it calls :func:`tick` before, until something comes on standard input.
"""

import asyncio
import ctypes
import faulthandler
import io
import multiprocessing
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

BLOCK, UNBLOCK, SET = signal.SIG_BLOCK, signal.SIG_UNBLOCK, signal.SIG_SETMASK
LAST = signal.SIGRTMIN + 5
LIBC = ctypes.CDLL(None, use_errno=True)
HIS_MASK = "import signal; print(*map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
MASKS = ["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"]


def send(number):
    os.kill(os.getpid(), number)


def mask():
    return sorted(map(int, signal.pthread_sigmask(BLOCK, [])))


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def handled(number, act, wait=lambda: signal.sigtimedwait([], 0.01)):
    """How often a handler has run at least once, when ``act`` has been called."""
    seen = []
    before = signal.signal(number, lambda *given: seen.append(given[0]))
    try:
        act()
        while not seen:
            wait()
    finally:
        signal.signal(number, before)
    return seen[0]


def blocked(numbers, function):
    before = signal.pthread_sigmask(BLOCK, numbers)
    try:
        return function()
    finally:
        signal.pthread_sigmask(SET, before)


def checked(name, value):
    with open(sys.argv[1], "a") as file:
        print(name, value, file=file)


def waits():
    def waited():
        send(signal.SIGUSR1)
        yield int(signal.sigwait([signal.SIGUSR1]))
        send(signal.SIGUSR1)
        yield in_thread(lambda: int(signal.sigwait([signal.SIGUSR1])))
        send(signal.SIGTERM)
        info = signal.sigtimedwait([signal.SIGTERM], 10)
        yield info.si_signo, info.si_pid == os.getpid()
        for _ in range(50):
            send(signal.SIGRTMIN + 3)
        yield sum(signal.sigtimedwait([signal.SIGRTMIN + 3], 0) is not None for _ in range(60))
        send(signal.SIGUSR2)
        yield sorted(map(int, signal.sigpending()))
        bits = struct.pack("Q", 1 << (signal.SIGUSR2 - 1)).ljust(128, b"\0")
        descriptor = LIBC.signalfd(-1, bits, 0)
        yield struct.unpack("I", os.read(descriptor, 128)[:4])[0]
        subprocess.Popen(["true"]).wait()
        yield int(signal.sigwait([signal.SIGCHLD]))
        thread = threading.Thread(target=lambda: signal.sigwait([signal.SIGUSR1]))
        thread.start()
        signal.pthread_kill(thread.ident, signal.SIGUSR1)
        yield thread.join()
        subprocess.run(["sh", "-c", f"kill -USR1 {os.getpid()}"], check=True)
        yield int(signal.sigwait([signal.SIGUSR1]))

    numbers = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGCHLD, signal.SIGRTMIN + 3]
    checked("waits", blocked(numbers, lambda: list(waited())))


def timers():
    def spin():
        sum(range(1000))

    for which, number in (
        (signal.ITIMER_REAL, signal.SIGALRM),
        (signal.ITIMER_VIRTUAL, signal.SIGVTALRM),
        (signal.ITIMER_PROF, signal.SIGPROF),
    ):
        checked("setitimer", handled(number, lambda: signal.setitimer(which, 0.001), spin))  # noqa: B023
    timer = ctypes.c_void_p()

    def begin():
        LIBC.timer_create(1, None, ctypes.byref(timer))
        LIBC.timer_settime(timer, 0, struct.pack("4q", 0, 0, 0, 1000000), None)

    checked("timer_create", handled(signal.SIGALRM, begin))
    checked(
        "alarm, blocked",
        blocked([signal.SIGALRM], lambda: (begin(), int(signal.sigwait([signal.SIGALRM])))[1]),
    )


def handlers():
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM, signal.SIGURG, signal.SIGWINCH):
        checked("handler", handled(number, lambda: send(number)))  # noqa: B023
    checked("of a child", handled(signal.SIGCHLD, lambda: subprocess.run(["true"], check=True)))
    try:
        send(signal.SIGINT)
        time.sleep(100)
    except KeyboardInterrupt:
        checked("interrupt", threading.current_thread() is threading.main_thread())
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write)
    checked("wakeup", (before, handled(signal.SIGUSR2, lambda: send(signal.SIGUSR2)), os.read(read, 9)))
    signal.set_wakeup_fd(before)


def masks():
    def seen():
        yield mask(), in_thread(mask)
        yield subprocess.run(MASKS, stdout=subprocess.PIPE, check=True).stdout
        yield subprocess.run([sys.executable, "-c", HIS_MASK], stdout=subprocess.PIPE, check=True).stdout
        yield in_thread(lambda: subprocess.run(MASKS, stdout=subprocess.PIPE, check=True).stdout)
        yield os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", "kill -USR1 $$; exit 3"], os.environ), 0)[1]
        pid = os.fork()
        if pid == 0:
            send(signal.SIGUSR1)
            os._exit(signal.SIGUSR1 in mask())
        yield os.waitpid(pid, 0)[1]

    checked("masks", list(seen()))
    checked("masks, blocked", blocked([signal.SIGUSR1], lambda: list(seen())))
    for method in ("fork", "spawn", "forkserver"):
        pool = multiprocessing.get_context(method).Pool(1)
        checked(method, (pool.apply(mask), pool.apply(in_thread, (mask,))))
        pool.close()
        pool.join()


def loops():
    async def of_asyncio():
        loop, got = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, got.set)
        send(signal.SIGUSR1)
        await got.wait()
        child = await asyncio.create_subprocess_exec("sh", "-c", "kill -TERM $$")
        loop.remove_signal_handler(signal.SIGUSR1)
        return await child.wait()

    checked("asyncio", asyncio.run(of_asyncio()))
    try:
        import uvloop
    except ImportError:
        return
    loop = uvloop.new_event_loop()
    checked("uvloop", loop.run_until_complete(of_asyncio()))
    loop.close()


def faults():
    with tempfile.TemporaryFile() as file:
        faulthandler.register(signal.SIGUSR2, file, all_threads=False)
        send(signal.SIGUSR2)
        faulthandler.unregister(signal.SIGUSR2)
        file.seek(0)
        text = io.TextIOWrapper(file, "utf-8").read()
    checked("faulthandler", [line.rpartition(" in ")[2] for line in text.splitlines()])
    for number in (signal.SIGSEGV, signal.SIGFPE, signal.SIGTRAP, signal.SIGABRT, signal.SIGTERM):
        pid = os.fork()
        if pid == 0:
            signal.signal(number, signal.SIG_DFL)
            faulthandler.disable()
            send(number)
            os._exit(0)
        checked("ended by", os.waitpid(pid, 0)[1] & 127)


def tick():
    time.sleep(0.005)


def main():
    while sys.argv[2:] and not select.select([0], [], [], 0)[0]:
        tick()
    # Threads that are joined may live on for a moment: what a thread is to block is blocked before any is started.
    signal.pthread_sigmask(BLOCK, [LAST])
    for one in (waits, timers, handlers, masks, loops, faults):
        one()
    send(LAST)
    checked("pending", sorted(map(int, signal.sigpending())))
    signal.pthread_sigmask(UNBLOCK, [LAST])
    checked("not reached", None)


if __name__ == "__main__":
    main()
