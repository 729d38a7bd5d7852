"""What a command answers: text for people, and the same as structure for front ends."""

import re

from .errors import HelperError


class Answer:
    """``text`` is printed, ``data`` (plain JSON types) is what the MI command of the same name returns."""

    def __init__(self, text, data):
        self.text = text
        self.data = data


class Arguments:
    """The arguments of a command: an ``expression`` and ``--options``.

    ``options`` maps the allowed options to True (a flag), int (takes a number) or None (a number may follow).
    """

    def __init__(self, text, options):
        self.values = {}
        if options:
            pattern = r"(?:^|\s)--({})(?:[= ]\s*(\d+))?(?=\s|$)".format("|".join(map(re.escape, options)))
            text = re.sub(pattern, lambda match: self._take(match, options), text)
        unknown = re.search(r"(?:^|\s)(--[a-z][a-z-]*)(?=[\s=]|$)", text)
        if unknown:
            raise HelperError(f"There is no option {unknown.group(1)}.", "Options: " + _listed(options))
        self.expression = text.strip()

    def _take(self, match, options):
        name, number = match.group(1), match.group(2)
        kind = options[name]
        if kind is int and number is None:
            raise HelperError(f"The option --{name} needs a number.")
        self.values[name] = True if number is None else int(number)
        # A number after a flag belongs to the expression.
        return " " + number if kind is True and number is not None else " "

    def get(self, name, default=None):
        """The value of an option; ``default`` if it was not given."""
        return self.values.get(name, default)

    def require_expression(self, what):
        """The expression. Raises HelperError, which says ``what`` is missing, when there is none."""
        if not self.expression:
            raise HelperError(f"An expression is missing: {what}.")
        return self.expression


def _listed(options):
    return ", ".join("--" + name for name in options) if options else "none"


_CONTROL = {i: f"\\x{i:02x}" for i in [*range(32), 127] if chr(i) not in "\n\t"}


def printable(text, encoding):
    """``text`` with escapes for what a terminal would obey and for what gdb cannot print in ``encoding``."""
    return text.translate(_CONTROL).encode(encoding, "backslashreplace").decode(encoding)


def plain(value, encoding):
    """``value`` for MI: text, lists and dicts; members without a value are left out, booleans are words."""
    if isinstance(value, dict):
        return {key: plain(entry, encoding) for key, entry in value.items() if entry is not None}
    if isinstance(value, (list, tuple)):
        return [plain(entry, encoding) for entry in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return printable(value, encoding) if isinstance(value, str) else "" if value is None else str(value)
