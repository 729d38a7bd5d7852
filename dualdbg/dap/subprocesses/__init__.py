"""Child processes of a client's program: each is debugged in a separate session, by the same editor."""
