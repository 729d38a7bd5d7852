"""The session's requests to gdb: ``dualdbg-engine ["module.Request", fields...]`` answers in JSON, in one round trip.

Runs inside gdb's own Python (3.8 and later). ``command`` has the gdb command. ``dualdbg_shared/requests`` declares
what can be asked, and ``registry`` which function answers: its module is read when it is first needed.
"""
