"""The way of generation of an operator for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .generated_files import GeneratedFile, Generation
from .native_functions import FILE
from .operator_chain import REPOSITORY

# Where the files that the wheel brings are in PyTorch's repository.
_IN_REPOSITORY = (
    ("torchgen/packaged/autograd/", "tools/autograd/"),
    ("torchgen/packaged/ATen/", "aten/src/ATen/"),
)


def as_text(found: Generation) -> str:
    """The way in lines; addresses are link-time ones, as ``nm`` prints them."""
    lines = [f"aten::{found.operator}", "", f"Entry in {FILE}"]
    for entry in found.entries:
        made = f"{entry.overload}, made from {entry.made_from}" if entry.made_from else entry.schema
        lines.append(f"  line {entry.line}: {made}")
        if found.commit is not None:
            lines.append(f"      {REPOSITORY}/{found.commit}/{in_repository(str(FILE))}#L{entry.line}")
    layer = origin = None
    for file in found.files:
        if file.layer != layer:
            layer, origin = file.layer, None
            lines += ["", file.layer]
        if _origin(file) != origin:
            origin = _origin(file)
            lines += origin
        lines.append(f"  {file.path or 'a file that the symbol table does not tell'}, in {file.library}")
        for place in file.places:
            inside = f", inlined into {place.inside}" if place.inside else ""
            lines.append(f"      {place.function}  {place.library}+{place.address:#x}{inside}")
    if found.headers:
        lines += ["", "Headers in the wheel"]
        lines += [f"  {header.path} from {header.template}" for header in found.headers]
    lines += [
        "",
        "torchgen/ and torch/include/ are in the folder of the installed packages; build/ and torch/csrc/ in a source",
    ]
    lines.append("tree of PyTorch that was built.")
    if found.commit is not None:
        lines.append(f"PyTorch's commit: {found.commit}")
    return "\n".join(lines)


def _origin(file: GeneratedFile) -> list[str]:
    """What a file is made from and by."""
    if file.generator is None:
        return [f"  written by hand{f', in the template {file.template}' if file.template else ''}"]
    line = (
        f":{file.generator.line}" if file.generator.line is not None else ", which this wheel does not have"
    )
    return [
        f"  template {file.template or 'not in this wheel'}",
        f"  made by {file.generator.function}, {file.generator.file}{line}",
    ]


def in_repository(path: str) -> str:
    """Where a file of the wheel is in PyTorch's repository."""
    for ours, theirs in _IN_REPOSITORY:
        if path.startswith(ours):
            return theirs + path.removeprefix(ours)
    return path


def as_data(found: Generation) -> dict[str, Any]:
    """The same as plain JSON types; addresses are texts in hexadecimal."""
    data = asdict(found)
    for file in data["files"]:
        for place in file["places"]:
            place["address"] = hex(place["address"])
    return {**data, "yaml": str(FILE)}
