"""Takes the text of a log point apart: what is printed as it is, and the expressions between. Pure."""

from __future__ import annotations


def split_log(text: str) -> tuple[list[str], list[str]]:
    """The texts and the expressions of ``"x is {x}"``. There is one text more than there are expressions.

    ``{{`` and ``}}``, or a backslash before one, stand for braces. Braces within an expression belong to it when they
    match.
    """
    texts, expressions = [""], []
    at = 0
    while at < len(text):
        pair, letter = text[at : at + 2], text[at]
        if pair in ("{{", "}}", "\\{", "\\}"):
            texts[-1] += pair[1]
            at += 2
        elif letter == "{":
            end = _closing(text, at)
            expressions.append(text[at + 1 : end].strip())
            texts.append("")
            at = end + 1
        else:
            texts[-1] += letter
            at += 1
    return texts, expressions


def _closing(text: str, at: int) -> int:
    """Where the brace at ``at`` is closed; the end of the text when it is not."""
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index
    return len(text)
