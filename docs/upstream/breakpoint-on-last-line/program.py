print("begin", flush=True)
breakpoint()
