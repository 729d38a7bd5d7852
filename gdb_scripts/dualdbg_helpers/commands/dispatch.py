"""``dispatch-keys`` and ``op``: what the dispatcher works with."""

import re

from .. import context, locate
from ..answers import Arguments
from ..errors import HelperError, Implausible, Unreadable
from ..torch.dispatch import DispatchKeys
from ..torch.schema import Operators
from ..torch.tensor import Tensors
from .registry import command
from .values import note, with_layout


@command(
    "dispatch-keys",
    "EXPR",
    "Show the dispatch keys of a tensor, or those in a DispatchKeySet (an object, or its bits as a number).",
)
def dispatch_keys(text):
    arguments = Arguments(text, {})
    expression = locate.Expression(arguments.require_expression("a tensor or a DispatchKeySet"))
    target = context.current()
    keys = target.decoder(DispatchKeys)
    if expression.type_name == "c10::DispatchKeySet":
        bits, how = target.memory.u64(expression.address), ""
    else:
        try:
            place = locate.tensor(target, expression)
            bits = target.decoder(Tensors).read(place.address).key_set
            how = place.how
        except (HelperError, Implausible, Unreadable):
            # A number that is an address is no set of keys, whatever its bits.
            address = expression.address
            if expression.type_name or not keys.plausible(address) or target.memory.readable(address):
                raise
            bits, how = expression.address, "taken as the bits of a DispatchKeySet"
    names = keys.names(bits)
    highest = names[-1] if names else "Undefined"
    shown = note(locate.Place(0, how)) + "{}\nhighest: {}\nbits: 0x{:x}".format(
        keys.text(bits), highest, bits
    )
    data = {"keys": names, "highest": highest, "bits": f"0x{bits:x}", "taken": how or None}
    return with_layout(target, shown, data)


@command(
    "op",
    "EXPR | NAMESPACE::NAME[.OVERLOAD]",
    "Show an operator: the schema of an OperatorHandle, or of the operators with a name.",
)
def op(text):
    arguments = Arguments(text, {})
    expression = arguments.require_expression("an OperatorHandle, or a name such as aten::add.Tensor")
    target = context.current()
    operators = target.decoder(Operators)
    if re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*(\.\w+)?", expression):
        found = [d for d in operators.all() if _named(operators.name(d), expression)]
        if not found:
            raise HelperError(f"There is no operator {expression} in this process.")
    else:
        place = locate.Expression(expression)
        try:
            found = [operators.of_handle(place.address)]
        except (Implausible, Unreadable):
            raise HelperError(f"There is no OperatorHandle at 0x{place.address:x}.") from None
    rows = [
        {
            "name": operators.name(definition),
            "schema": operators.schema(definition),
            "registered": operators.registered_at(definition),
            "address": f"0x{definition:x}",
        }
        for definition in found
    ]
    lines = []
    for row in rows:
        lines.append(row["schema"] or f"{row['name']}: no schema yet")
        if row["registered"]:
            lines.append("  " + row["registered"])
    return with_layout(target, "\n".join(lines), {"operators": rows})


def _named(name, wanted):
    return name == wanted or name.split(".")[0] == wanted
