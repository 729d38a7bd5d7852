def numbers():
    yield 1
    print("second", flush=True)  # set later
    yield 2


found = numbers()
next(found)
print("waits", flush=True)  # stop
next(found)
