"""Native frames and Python frames in, one stack out; pure functions that need no process."""
