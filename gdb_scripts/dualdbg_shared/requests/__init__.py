"""The requests of the session to gdb, one module an area: each is declared here once, with its fields and its answer.

``Request`` and the form on the wire are in :mod:`base` and :mod:`codec`. In gdb, ``@answers(SomeRequest)`` marks the
function of :mod:`dualdbg_engine` that answers; the session says ``await gdb.ask(SomeRequest(...))``.
"""
