def f():
    raise KeyError


def caller():
    try:  # stop
        f()
    except KeyError:
        return 1


caller()
