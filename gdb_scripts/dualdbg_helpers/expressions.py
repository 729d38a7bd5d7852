"""Evaluate the expressions of users without a call: in ``print``, conditions, log texts, displays and watchpoints.

What a class of the C++ library holds is read from its layout (:mod:`.containers`); numbers and pointers are gdb's. What
would call a function of the program is left to gdb where calls are allowed, and refused where they are not. Text that
is no such expression gdb evaluates as a whole.
"""

from __future__ import annotations

import ast
import functools
import operator
import re

import gdb

from . import containers, language, sequences
from .actual import actual

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>(?:u8)?"(?:[^"\\]|\\.)*"s?v?|'(?:[^'\\]|\\.)*')
    |(?P<number>0[xX][\da-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)
    |(?P<cast>\w+_cast\s*<[^()]*>(?=\s*\()
        |(?<![\w$)\]])\((?:\s*(?:unsigned|signed|int|long|short|char|float|double|bool|const)\b)+[\s*&]*\)
        |(?<![\w$)\]])\([\w:<>,\s]+[*&]\s*\)
        |(?<![\w$)\]])\([A-Za-z_][\w:]*\)(?=\s*[\w"'$(!~])(?!\s*(?:and|or|not|in|is|xor|bit\w+)\b))
    |(?P<get>std::get\s*<\s*[^()]+?\s*>)(?=\s*\()
    |(?P<gdb>(?:sizeof|alignof|decltype|typeof)\s*\((?:[^()]|\([^()]*\))*\))
    |(?P<sign>->|&&|\|\||==|!=|<=|>=|<<(?!=)|>>(?!=)|\+(?![+=])|-(?![-=])|//?(?!=)|[*%&|^](?!=)|[<>!~.()\[\],?]|:(?!:)
        |(?:not\s+in|is\s+not|and|or|not|in|is|not_eq|bitand|bitor|compl|xor)\b)
    |(?P<name>(?:::)?[A-Za-z_$][\w$]*(?:(?:<[^<>()&|]*>)?::~?[A-Za-z_]\w*)*)
    |$)""",
    re.VERBOSE,
)
_WORDS = {"and": "&&", "or": "||", "not_eq": "!=", "bitand": "&", "bitor": "|", "compl": "~", "xor": "^"}
_BINDS = {
    "?": 1, "||": 2, "&&": 3, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8, "in": 8, "not in": 8, "is": 8, "is not": 8,
    "<": 9, ">": 9, "<=": 9, ">=": 9, "<<": 10, ">>": 10, "+": 11, "-": 11, "*": 12, "/": 12, "//": 12, "%": 12,
}  # fmt: skip
_UNARY = 13
COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_BUILTIN = {"int", "long", "char", "float", "double", "bool"}
_SIZE = re.compile(r"sizeof\s*\((.*)\)", re.DOTALL)
_TEMPLATE_CALL = re.compile(r"\w\s*<.*>\s*\(")
_CONSTANTS = {
    "true", "false", "True", "False", "null", "nullptr", "NULL", "nullopt", "std::nullopt", "None",
}  # fmt: skip
_CLASSES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
_PLACES = (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_FUNC)  # their address is their value
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
_EIGEN = re.compile(r"^Eigen::(?:Matrix|Array)<")
# In ATen, or where PyTorch has moved them to.
_ACCESSOR = re.compile(
    r"^(?:at|torch::headeronly(?:::detail)?)::(?:TensorAccessor|GenericPackedTensorAccessor)<"
)
_PART = "dualdbg_part"  # begins the names of gdb's variables that have values of parts of an expression


class _Unread(Exception):
    """The text is no expression of ours."""


class WouldCall(gdb.GdbError):
    """A function of the program would be called for the value, and may not be."""

    def __init__(self, what):
        super().__init__(
            f"{what} would be a call in the program; call(...) around it allows that, or: set calls on"
        )


@functools.lru_cache(maxsize=200)
def parse(text, is_of_python=False):
    """The tree of an expression: tuples that begin with a kind. None for what is no expression of ours.

    ``is_of_python``: ``not`` binds as in Python.
    """
    try:
        return _Parser(text, is_of_python).whole()
    except (_Unread, RecursionError):
        return None


class _Parser:
    def __init__(self, text, is_of_python):
        self._tokens, self._at, self._of_python, at = [], 0, is_of_python, 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise _Unread
            if match.lastgroup:
                word = (
                    " ".join(match.group(match.lastgroup).split())
                    if match.lastgroup == "sign"
                    else match.group()
                )
                self._tokens.append((match.lastgroup, _WORDS.get(word, word.strip())))
            at = match.end()
        self._tokens.append(("end", ""))

    def whole(self):
        return self._until(("end", ""))

    def _next(self):
        self._at += 1
        return self._tokens[self._at - 1]

    def _takes(self, sign):
        self._at += (found := self._tokens[self._at] == ("sign", sign))
        return found

    def _until(self, token):
        """An expression, and the token behind it."""
        tree = self._expression(0)
        if self._next() != token:
            raise _Unread
        return tree

    def _expression(self, least):
        left = self._operand()
        while True:
            kind, sign = self._tokens[self._at]
            binds = _BINDS.get(sign, 0) if kind == "sign" else 0
            if binds <= least:
                return left
            self._at += 1
            if sign == "?":
                left = ("if", left, self._until(("sign", ":")), self._expression(binds - 1))
            else:
                left = ("binary", sign, left, self._expression(binds))

    def _operand(self):
        node: tuple
        kind, word = self._next()
        if kind == "sign" and word in ("!", "-", "+", "~", "*", "&", "not"):
            low = word == "not" and self._of_python
            return ("unary", "!" if word == "not" else word, self._expression(3 if low else _UNARY))
        if kind == "cast":
            return ("cast", word[word.find("<") + 1 if word[-1] == ">" else 1 : -1], self._expression(_UNARY))
        if kind == "get" and self._takes("("):
            node = ("get", word[word.index("<") + 1 : -1].strip(), self._until(("sign", ")")))
        elif kind in ("text", "number", "gdb", "name"):
            node = (kind, word)
        elif (kind, word) == ("sign", "("):
            node = ("paren", self._until(("sign", ")")))
        elif (kind, word) == ("sign", "["):
            node = ("list", *self._arguments("]"))
        else:
            raise _Unread
        while True:  # what stands behind it
            if self._takes("["):
                node = ("index", node, self._until(("sign", "]")))
            elif self._takes("("):
                node = ("call", node, *self._arguments(")"))
            elif (sign := self._tokens[self._at]) in (("sign", "."), ("sign", "->")):
                self._at += 1
                kind, word = self._next()
                if kind != "name":
                    raise _Unread
                node = ("member", sign[1], node, word)
            else:
                return node

    def _arguments(self, closing):
        found = []
        while not self._takes(closing):
            if found and not self._takes(","):
                raise _Unread
            found.append(self._expression(0))
        return found


def names_in(tree):
    """The names in a tree, without those of functions that are called, of members, and of constants."""
    if tree[0] == "name":
        return set() if tree[1] in _CONSTANTS else {tree[1]}
    inner = tree[2:] if tree[0] == "call" and tree[1][0] == "name" else tree[1:]
    return set().union(*(names_in(one) for one in inner if isinstance(one, tuple)))


def calls_at_will(tree):
    """Whether ``call(...)`` is in a tree: what is in its brackets may call."""
    if not isinstance(tree, tuple):
        return False
    return tree[:2] == ("call", ("name", "call")) or any(map(calls_at_will, tree))


def evaluate(expression, may_call=True):
    """The :class:`gdb.Value` of an expression of the user in the selected frame, in that frame's language.

    Raises gdb.error or gdb.GdbError where it has none; :class:`WouldCall` where it needs a call and ``may_call`` is not
    set.
    """
    tree = parse(expression.strip()) if language.is_like_ours() else None
    if tree is None or tree[0] in ("name", "text"):
        return language.evaluate_for_user(expression)
    try:
        found = Evaluator(may_call).value(tree)
    except gdb.MemoryError:
        raise
    except gdb.error:
        if not (may_call and _TEMPLATE_CALL.search(expression)):
            raise
        found = None
    return found if isinstance(found, gdb.Value) else language.evaluate_for_user(expression)


def truth(expression):
    """Whether a condition is true, as C++ reads it in an ``if``; nothing is called. Raises as :func:`evaluate` does."""
    tree = parse(expression.strip()) if language.is_like_ours() else None
    if tree is None:
        return bool(language.evaluate_for_user(expression))
    evaluator = Evaluator(False)
    return evaluator.truth(evaluator.value(tree))


class Evaluator:
    """Evaluates trees. A value is a :class:`gdb.Value`, bytes for a text that is written out, None for ``nullopt``."""

    def __init__(self, may_call):
        self._may_call = may_call
        self._variables = 0

    def value(self, node):
        """The value of a tree. Raises gdb.error or gdb.GdbError."""
        return getattr(self, "_" + node[0])(*node[1:])

    def truth(self, value):
        """Whether a value counts as true."""
        value = self._plain(value)
        value = value[0] if isinstance(value, tuple) else value
        if isinstance(value, gdb.Value) and _is_class(value):
            raise gdb.GdbError(f"a value of the type {value.type} is neither true nor false")
        return bool(value)

    def _flag(self, value):
        try:
            return gdb.Value(bool(value)).cast(language.find_type("bool"))
        except gdb.error:  # assembler has none
            return gdb.Value(int(value))

    # -- leaves ------------------------------------------------------------------------------------

    def _name(self, word):
        if word in ("nullptr", "NULL", "null"):
            return language.evaluate("0")
        if word in ("nullopt", "std::nullopt"):
            return None
        if word in ("true", "false", "True", "False"):
            return self._flag(word.lower() == "true")
        return language.evaluate_for_user(word)

    def _number(self, word):
        return language.evaluate(word)

    def _text(self, word):
        if word.startswith("'"):
            return language.evaluate(word)
        try:
            written = ast.literal_eval(word[word.index('"') : word.rindex('"') + 1])
        except (SyntaxError, ValueError):
            raise gdb.GdbError(f"{word} is no string") from None
        return written.encode("utf-8", "surrogateescape")

    def _gdb(self, text):
        size = _SIZE.fullmatch(text)
        tree = parse(size.group(1)) if size is not None else None
        if tree is not None and tree[0] in ("index", "member"):
            try:
                return language.evaluate(str(self.value(tree).type.sizeof))
            except (gdb.error, gdb.GdbError):  # an array's type is written so too
                pass
        return language.evaluate_for_user(text)

    def _list(self, *nodes):
        raise gdb.GdbError("C++ has no lists in brackets")

    # -- operators ---------------------------------------------------------------------------------

    def _paren(self, node):
        return self.value(node)

    def _if(self, condition, then, otherwise):
        return self.value(then if self.truth(self.value(condition)) else otherwise)

    def _cast(self, type_, node):
        if (
            node[0] == "call"
            and node[1][0] == "name"
            and node[1][1] != "call"
            and not self._is_object(node[1][1])
        ):
            # Without debug info gdb takes the type of what a function returns from the cast.
            return self._call_by_name(node[1][1], node[2:], f"({type_})")
        return self._by_gdb(f"({type_})", self.value(node), "")

    def _unary(self, sign, node):
        value = self.value(node)
        if sign == "!":
            return self._flag(not self.truth(value))
        if sign == "*" and isinstance(value, gdb.Value):
            return self._pointee(_referred(value), "*")
        if sign == "&":
            return self._by_gdb("&", _referred(value), "")
        return self._by_gdb(sign, self._scalar(value, sign), "")

    def _binary(self, sign, left, right):
        if sign in ("&&", "||"):
            first = self.truth(self.value(left))
            return self._flag(self.truth(self.value(right)) if first == (sign == "&&") else first)
        return self._operation(sign, self.value(left), self.value(right))

    def _operation(self, sign, left, right):
        compare, left, right = COMPARISONS.get(sign), self._plain(left), self._plain(right)
        if isinstance(left, tuple) or isinstance(right, tuple):
            has_left, left = left if isinstance(left, tuple) else (True, left)
            has_right, right = right if isinstance(right, tuple) else (True, right)
            if compare is None:
                raise gdb.GdbError("a std::optional can be compared; *it is the value in it")
            if not (has_left and has_right):
                return self._flag(compare(has_left, has_right))
            return self._operation(sign, left, right)
        if compare and any(isinstance(one, bytes) or containers.is_text(one) for one in (left, right)):
            texts = [containers.text(one) for one in (left, right)]
            if sign not in ("==", "!=") and None in texts:
                raise gdb.GdbError("the null pointer is no text")
            return self._flag(compare(*texts))
        left, right = self._scalar(left, sign), self._scalar(right, sign)
        if sign not in _BINDS or sign in ("in", "not in", "is", "is not", "//"):
            raise gdb.GdbError(f"C++ has no operator {sign}")
        return language.evaluate_for_user(f"{self._reference(left)} {sign} {self._reference(right)}")

    def _plain(self, value):
        """What stands for a value in comparisons: the pointer in a smart one, the number in an atomic one; of an
        optional value, whether there is one, and which.
        """
        value = (False, None) if value is None else _referred(value)
        if not isinstance(value, gdb.Value) or not _is_class(value):
            return value
        if containers.is_optional(value):
            has = containers.has_value(value)
            return has, containers.content(value) if has else None
        held = containers.held(value)
        return value if held is None else held

    def _scalar(self, value, sign):
        """A value with which gdb computes without a call."""
        if isinstance(value, gdb.Value) and _is_class(value) and not self._may_call:
            raise WouldCall(f"operator{sign} of {value.type.strip_typedefs().unqualified()}")
        return value

    # -- members, elements, calls ------------------------------------------------------------------

    def _get(self, what, node):
        return containers.part(_referred(self.value(node)), what)

    def _member(self, sign, node, name):
        value = _referred(self.value(node))
        value = self._pointee(value, "->") if sign == "->" else value
        try:  # where the declared class has none of that name, the class that the object really has is looked at
            return self._by_gdb("", value, f".{name}")
        except gdb.MemoryError:
            raise
        except gdb.error:
            found, _ = actual(value)
            if found.type == value.type:
                raise
            return self._by_gdb("", found, f".{name}")

    def _pointee(self, value, sign):
        """What ``*value`` is, and the object whose members ``value->`` has."""
        if not isinstance(value, gdb.Value):
            raise gdb.GdbError(f"{sign} needs a pointer")
        if not _is_class(value):
            value = value if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR else value + 0
            return _referred(value.dereference())
        if containers.is_optional(value):
            return containers.content(value)
        found = containers.pointee(value)
        if found is not None:
            return found
        self._scalar(value, sign)
        return _referred(self._by_gdb("*", value, ""))

    def _index(self, node, index):
        nodes = [index]
        while node[0] == "index":
            nodes.insert(0, node[2])
            node = node[1]
        value, at = _referred(self.value(node)), 0
        while at < len(nodes):
            value, taken = self._element(value, nodes[at:])
            value, at = _referred(value), at + taken
        return value

    def _element(self, value, nodes):
        """``(the element that the first of the indices means, how many it took)``."""
        name, index = sequences.name_of(value), self.value(nodes[0])
        if containers.is_map(value):
            return containers.entry(value, index), 1
        if _ACCESSOR.match(name):
            count = containers.dimensions(value)
            if len(nodes) < count:
                raise gdb.GdbError(f"this accessor has {count} dimensions: give as many indices")
            return containers.accessed(value, [int(self.value(one)) for one in nodes[:count]]), count
        if containers.is_string(value):
            return containers.character(value, int(index)), 1
        sequence = sequences.of(value)
        if sequence is not None:
            return sequence.element(int(index)), 1
        if _EIGEN.match(name):
            return containers.coefficient(value, [int(index)]), 1
        if _is_class(value):
            pointer = containers.held(value)
            if pointer is not None:
                return pointer[int(index)], 1
            self._scalar(value, "[]")
        return self._by_gdb("", value, f"[{self._reference(self._plain(index))}]"), 1

    def _call(self, function, *arguments):
        if function == ("name", "call") and len(arguments) == 1:
            return Evaluator(True).value(arguments[0])
        if function[0] == "member":
            _, sign, node, name = function
            value = _referred(self.value(node))
            if sign == "->":
                value = self._pointee(value, "->")
            elif name == "get" and not arguments and (pointer := containers.held(value)) is not None:
                return pointer
            found = containers.method(value, name, [self.value(one) for one in arguments])
            if found is not None:
                return found
            if not self._may_call:
                raise WouldCall(f"{name}()")
            return self._by_gdb("", value, f".{name}({self._references(arguments)})")
        if function[0] == "name" and not self._is_object(function[1]):
            return self._call_by_name(function[1], arguments)
        value = _referred(self.value(function))
        if _EIGEN.match(sequences.name_of(value)):
            return containers.coefficient(value, [int(self.value(one)) for one in arguments])
        if not self._may_call:
            raise WouldCall("operator()")
        return self._by_gdb("", value, f"({self._references(arguments)})")

    def _call_by_name(self, name, arguments, before=""):
        if not (self._may_call or name.startswith("$_") or name in _BUILTIN):
            raise WouldCall(f"{name}()")
        return language.evaluate_for_user(f"{before}{name}({self._references(arguments)})")

    def _is_object(self, name):
        """Whether what is called is an object of a class, and no function."""
        try:
            return name not in _BUILTIN and _is_class(_referred(language.evaluate_for_user(name)))
        except gdb.error:  # a type, or a function of which there are several
            return False

    # -- gdb ---------------------------------------------------------------------------------------

    def _by_gdb(self, before, value, behind):
        """What gdb says of a value with this text before and behind it."""
        return language.evaluate_for_user(f"{before}{self._reference(value, before == '&')}{behind}")

    def _references(self, nodes):
        return ", ".join(
            node[1] if node[0] in ("text", "number") else self._reference(self.value(node)) for node in nodes
        )

    def _reference(self, value, as_place=False):
        """What gdb reads as this value. ``as_place``: where it lies counts; a bit field has no address of its own."""
        if not isinstance(value, gdb.Value):
            raise gdb.GdbError("a text can be compared, and nothing else")
        name = f"{_PART}_{self._variables}"
        self._variables += 1
        is_number = not _is_class(value) and value.type.strip_typedefs().code not in _PLACES
        if (is_number and not as_place) or value.address is None:
            gdb.set_convenience_variable(name, value)
            return f"${name}"
        gdb.set_convenience_variable(name, value.address)
        return f"(*${name})"


def _is_class(value):
    return value.type.strip_typedefs().code in _CLASSES


def _referred(value):
    """What a reference refers to; any other value itself."""
    is_reference = isinstance(value, gdb.Value) and value.type.strip_typedefs().code in _REFERENCES
    return value.referenced_value() if is_reference else value
