"""What can go wrong: memory that cannot be read, and requests that have no sound answer."""


class HelperError(Exception):
    """A request that cannot be answered: why, and what to type next (``hint``, may be empty)."""

    def __init__(self, message, hint=""):
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self):
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class LayoutMissing(HelperError):
    """No source of layouts knows a type, or the one that does failed its self-check."""


class Implausible(Exception):
    """Memory could be read, but it does not hold what the caller expected; ``str`` says what is wrong."""


class Unreadable(Exception):
    """Memory of the inferior cannot be read at ``address``."""

    def __init__(self, address):
        super().__init__(address)
        self.address = address

    def __str__(self):
        return f"<unreadable 0x{self.address:x}>"


class OutOfTime(Exception):
    """The time limit of a command has passed; what was read so far is shown, with a mark."""
