"""The chain of an operator for people and for programs."""

from __future__ import annotations

from typing import Any

from .operator_chain import Chain, Station, Step

_TITLES = {
    Step.BINDING: "Python binding",
    Step.DISPATCHER: "Dispatcher",
    Step.AUTOGRAD: "Autograd (records the call)",
    Step.KERNEL: "Kernels",
    Step.STUB: "Vectorised functions (one of them runs, by processor)",
    Step.BACKWARD: "Backward",
}


def as_text(chain: Chain) -> str:
    """The chain in lines; an address is the link-time one, as ``nm`` prints it."""
    lines = [f"aten::{chain.operator}"]
    for overload in chain.overloads:
        made = (
            f"{overload.name}: made by torchgen from {overload.made_from}"
            if overload.schema is None
            else overload.schema
        )
        lines.append(f"  {made}")
        if overload.python:
            lines.append(f"      Python: {', '.join(overload.python)}")
        lines += [f"      gradient of {inputs}: {formula}" for inputs, formula in overload.formulas]
    for step in Step:
        stations = [station for station in chain.stations if station.step is step]
        if stations:
            lines += ["", _TITLES[step]]
        for station in stations:
            lines += _station_lines(chain, station)
    if chain.commit is not None:
        lines += ["", f"PyTorch's commit: {chain.commit}"]
    return "\n".join(lines)


def _station_lines(chain: Chain, station: Station) -> list[str]:
    where = f"{station.library}+{station.address:#x}" if station.address is not None else "not there"
    details = [", ".join(station.keys), station.note or ""]
    said = "; ".join(detail for detail in details if detail)
    lines = [f"  {station.function}", f"      {where}{f'  ({said})' if said else ''}"]
    if len(chain.overloads) > 1:
        lines.append(f"      for {', '.join(station.overloads)}")
    link = chain.link(station)
    if link is not None:
        lines.append(f"      {link}")
    return lines


def as_data(chain: Chain) -> dict[str, Any]:
    """The chain as plain JSON types; addresses are texts in hexadecimal."""
    return {
        "operator": chain.operator,
        "commit": chain.commit,
        "overloads": [
            {
                "name": overload.name,
                "schema": overload.schema,
                "made_from": overload.made_from,
                "python": list(overload.python),
                "gradients": [
                    {"inputs": inputs, "formula": formula} for inputs, formula in overload.formulas
                ],
            }
            for overload in chain.overloads
        ],
        "stations": [
            {
                "step": station.step.value,
                "function": station.function,
                "overloads": list(station.overloads),
                "library": station.library,
                "address": None if station.address is None else hex(station.address),
                "keys": list(station.keys),
                "source": station.source,
                "link": chain.link(station),
                "note": station.note,
            }
            for station in chain.stations
        ],
    }
