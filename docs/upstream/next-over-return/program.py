def f():
    return 1  # stop


def g():
    return 2


x = f() + g()
print("end", flush=True)
