import os
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
os.kill(os.getpid(), signal.SIGUSR1)
print("got", signal.sigwait({signal.SIGUSR1}), flush=True)
