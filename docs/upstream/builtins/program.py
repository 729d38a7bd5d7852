import builtins

print("added", [name for name in ("execfile", "runfile") if hasattr(builtins, name)], flush=True)
