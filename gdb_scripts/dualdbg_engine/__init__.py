"""The session's questions to gdb, each in one round trip: ``dualdbg-engine ["name", arguments...]`` answers in JSON.

Runs inside gdb's own Python (3.8 and later). ``command`` has the gdb command, ``table`` the names that it knows. A
module is read when one of its names is first asked for.
"""
