"""Call frame information: how to get from a frame to its caller, from the entries of ``.eh_frame``.

DWARF 5, section 6.4 (the instructions); Linux Standard Base 5, "Exception Frames" (the CIE's
augmentations: ``S`` marks a signal frame, ``B`` return addresses signed with the B key).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from ...errors import SymbolError
from ...symbols.elf.eh_frame import Fde
from ...symbols.elf.elf_file import ElfFile
from ..cursor import Cursor


class How(IntEnum):
    """How a register of the caller is recovered."""

    UNDEFINED = 0
    SAME = 1
    AT_CFA = 2  # saved at CFA + value
    IS_CFA = 3  # its value is CFA + value
    REGISTER = 4
    EXPRESSION = 5  # saved at the address that the expression gives
    VALUE = 6  # its value is what the expression gives


@dataclass(frozen=True)
class Row:
    """The rules at one address. The CFA is ``cfa_register + cfa_offset``, or what ``cfa_expression`` gives.

    ``rules`` holds (register, how, value) for the registers that are not simply the same. ``is_signed``: the return
    address has an authentication code in its upper bits (AADWARF64, "RA_SIGN_STATE").
    """

    cfa_register: int
    cfa_offset: int
    cfa_expression: bytes | None
    rules: tuple[tuple[int, How, int | bytes], ...]
    return_column: int
    is_signal_frame: bool
    is_signed: bool = False


@dataclass(frozen=True)
class _Cie:
    code_factor: int
    data_factor: int
    return_column: int
    instructions: bytes
    is_signal_frame: bool
    has_augmentation_data: bool


class CallFrames:
    """The rules of one file, by link-time address."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self._cies: dict[int, _Cie] = {}

    def row(self, fde: Fde, vaddr: int) -> Row:
        """The rules at ``vaddr``, which ``fde`` covers. SymbolError where the entry is garbled."""
        try:
            return self._row(fde, vaddr)
        except (IndexError, struct.error, KeyError) as error:
            raise SymbolError(
                f"{self._elf.path}: the frame entry at {fde.offset:#x} cannot be read: {error!r}"
            ) from error

    def _row(self, fde: Fde, vaddr: int) -> Row:
        cie = self._cie(fde.cie_offset)
        data = self._elf.bytes_at(fde.offset, fde.size)
        cursor = Cursor(data, 20 if data[:4] == b"\xff\xff\xff\xff" else 8)
        cursor.at += 2 * _WIDTHS[fde.pointer_encoding & 0x0F]
        if cie.has_augmentation_data:
            cursor.block()
        program = _Program(cie, self._elf.machine)
        program.run(cie.instructions, 0, None)
        program.initial = dict(program.rules)
        program.run(data[cursor.at :], fde.start, vaddr)
        return program.row()

    def _cie(self, offset: int) -> _Cie:
        if offset not in self._cies:
            self._cies[offset] = _read_cie(self._elf, offset)
        return self._cies[offset]


_WIDTHS = {0x00: 8, 0x02: 2, 0x03: 4, 0x04: 8, 0x0A: 2, 0x0B: 4, 0x0C: 8}


def _read_cie(elf: ElfFile, offset: int) -> _Cie:
    (length,) = struct.unpack("<I", elf.bytes_at(offset, 4))
    cursor = Cursor(elf.bytes_at(offset, length + 4), 8)
    version = cursor.u8()
    end = cursor.data.index(b"\0", cursor.at)
    augmentation = cursor.data[cursor.at : end].decode("latin-1")
    cursor.at = end + 1
    code_factor, data_factor = cursor.uleb(), cursor.sleb()
    return_column = cursor.u8() if version == 1 else cursor.uleb()
    if augmentation.startswith("z"):
        cursor.block()
    return _Cie(
        code_factor=code_factor,
        data_factor=data_factor,
        return_column=return_column,
        instructions=cursor.data[cursor.at :],
        is_signal_frame="S" in augmentation,
        has_augmentation_data=augmentation.startswith("z"),
    )


class _Program:
    """The registers' rules while the instructions of one entry are followed."""

    def __init__(self, cie: _Cie, machine: int) -> None:
        self.cie = cie
        self.machine = machine
        self.rules: dict[int, tuple[How, int | bytes]] = {}
        self.initial: dict[int, tuple[How, int | bytes]] = {}
        self.cfa: tuple[int, int, bytes | None] = (0, 0, None)
        self.is_signed = False
        self.location = 0
        self._kept: list[tuple[dict[int, tuple[How, int | bytes]], tuple[int, int, bytes | None], bool]] = []

    def row(self) -> Row:
        register, offset, expression = self.cfa
        rules = tuple((number, how, value) for number, (how, value) in self.rules.items())
        return Row(
            register,
            offset,
            expression,
            rules,
            self.cie.return_column,
            self.cie.is_signal_frame,
            self.is_signed,
        )

    def run(self, instructions: bytes, start: int, wanted: int | None) -> None:
        """Follow the instructions up to the row of ``wanted`` (all of them when it is None)."""
        self.location = start
        cursor = Cursor(instructions)
        while cursor.at < len(instructions):
            opcode = cursor.u8()
            high, low = opcode & 0xC0, opcode & 0x3F
            if high == 0x40:
                self.location += low * self.cie.code_factor
            elif high == 0x80:
                self.rules[low] = (How.AT_CFA, cursor.uleb() * self.cie.data_factor)
            elif high == 0xC0:
                self._restore(low)
            else:
                _INSTRUCTIONS[opcode](self, cursor)
            if wanted is not None and self.location > wanted:
                return

    # -- one method for each instruction ---------------------------------------------------------

    def _restore(self, register: int) -> None:
        if register in self.initial:
            self.rules[register] = self.initial[register]
        else:
            self.rules.pop(register, None)

    def _nothing(self, cursor: Cursor) -> None:
        return

    def _set_location(self, cursor: Cursor) -> None:
        raise KeyError("DW_CFA_set_loc, which no compiler writes into .eh_frame")

    def _advance1(self, cursor: Cursor) -> None:
        self.location += cursor.u8() * self.cie.code_factor

    def _advance2(self, cursor: Cursor) -> None:
        self.location += cursor.fixed("<H") * self.cie.code_factor

    def _advance4(self, cursor: Cursor) -> None:
        self.location += cursor.fixed("<I") * self.cie.code_factor

    def _offset_extended(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.rules[register] = (How.AT_CFA, cursor.uleb() * self.cie.data_factor)

    def _offset_extended_signed(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.rules[register] = (How.AT_CFA, cursor.sleb() * self.cie.data_factor)

    def _offset_negative(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.rules[register] = (How.AT_CFA, -cursor.uleb() * self.cie.data_factor)

    def _value_offset(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.rules[register] = (How.IS_CFA, cursor.uleb() * self.cie.data_factor)

    def _value_offset_signed(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.rules[register] = (How.IS_CFA, cursor.sleb() * self.cie.data_factor)

    def _restore_extended(self, cursor: Cursor) -> None:
        self._restore(cursor.uleb())

    def _undefined(self, cursor: Cursor) -> None:
        self.rules[cursor.uleb()] = (How.UNDEFINED, 0)

    def _same_value(self, cursor: Cursor) -> None:
        self.rules[cursor.uleb()] = (How.SAME, 0)

    def _register(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.rules[register] = (How.REGISTER, cursor.uleb())

    def _expression(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.rules[register] = (How.EXPRESSION, cursor.block())

    def _value_expression(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.rules[register] = (How.VALUE, cursor.block())

    def _remember(self, cursor: Cursor) -> None:
        self._kept.append((dict(self.rules), self.cfa, self.is_signed))

    def _restore_state(self, cursor: Cursor) -> None:
        rules, self.cfa, self.is_signed = self._kept.pop()
        self.rules = dict(rules)

    def _define_cfa(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.cfa = (register, cursor.uleb(), None)

    def _define_cfa_signed(self, cursor: Cursor) -> None:
        register = cursor.uleb()
        self.cfa = (register, cursor.sleb() * self.cie.data_factor, None)

    def _define_cfa_register(self, cursor: Cursor) -> None:
        self.cfa = (cursor.uleb(), self.cfa[1], None)

    def _define_cfa_offset(self, cursor: Cursor) -> None:
        self.cfa = (self.cfa[0], cursor.uleb(), None)

    def _define_cfa_offset_signed(self, cursor: Cursor) -> None:
        self.cfa = (self.cfa[0], cursor.sleb() * self.cie.data_factor, None)

    def _define_cfa_expression(self, cursor: Cursor) -> None:
        self.cfa = (0, 0, cursor.block())

    def _arguments_size(self, cursor: Cursor) -> None:
        cursor.uleb()

    def _negate_signed(self, cursor: Cursor) -> None:
        self.is_signed = not self.is_signed


_INSTRUCTIONS: dict[int, Callable[[_Program, Cursor], None]] = {
    0x00: _Program._nothing,
    0x01: _Program._set_location,
    0x02: _Program._advance1,
    0x03: _Program._advance2,
    0x04: _Program._advance4,
    0x05: _Program._offset_extended,
    0x06: _Program._restore_extended,
    0x07: _Program._undefined,
    0x08: _Program._same_value,
    0x09: _Program._register,
    0x0A: _Program._remember,
    0x0B: _Program._restore_state,
    0x0C: _Program._define_cfa,
    0x0D: _Program._define_cfa_register,
    0x0E: _Program._define_cfa_offset,
    0x0F: _Program._define_cfa_expression,
    0x10: _Program._expression,
    0x11: _Program._offset_extended_signed,
    0x12: _Program._define_cfa_signed,
    0x13: _Program._define_cfa_offset_signed,
    0x14: _Program._value_offset,
    0x15: _Program._value_offset_signed,
    0x16: _Program._value_expression,
    0x2C: _Program._negate_signed,  # DW_CFA_AARCH64_negate_ra_state_with_pc
    0x2D: _Program._negate_signed,  # DW_CFA_AARCH64_negate_ra_state
    0x2E: _Program._arguments_size,  # DW_CFA_GNU_args_size
    0x2F: _Program._offset_negative,  # DW_CFA_GNU_negative_offset_extended
}
