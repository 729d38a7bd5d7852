def f():
    raise KeyError  # stop


def caller():
    try:
        f()
    except KeyError:
        pass
    return 1


caller()
print("end", flush=True)
