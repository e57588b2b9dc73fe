"""A small assembler for classic BPF, the language of seccomp filters.

An instruction is 8 bytes: ``u16 code, u8 jump-if-true, u8 jump-if-false, u32 k``. Jumps go
forward only, by instruction count; labels stand for their targets until ``assemble``.
"""

import struct
from dataclasses import dataclass

LOAD_WORD = 0x20
AND = 0x54
JUMP = 0x05
JUMP_EQ = 0x15
JUMP_GE = 0x35
JUMP_SET = 0x45
RETURN = 0x06

INSTRUCTION = struct.Struct("=HBBI")
MAX_INSTRUCTIONS = 4096


@dataclass(frozen=True, slots=True)
class Op:
    """One instruction; a conditional jump falls through where it names no label."""

    code: int
    k: int = 0
    if_true: str | None = None
    if_false: str | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A place that jumps can name."""

    name: str


def assemble(program: list[Op | Label]) -> bytes:
    """Resolve the labels and encode the instructions.

    Raises:
        ValueError: A jump goes backwards or too far, or the program is too long.
    """
    places: dict[str, int] = {}
    ops: list[Op] = []
    for item in program:
        if isinstance(item, Label):
            places[item.name] = len(ops)
        else:
            ops.append(item)
    if len(ops) > MAX_INSTRUCTIONS:
        raise ValueError(f"{len(ops)} instructions, the kernel takes {MAX_INSTRUCTIONS}")
    return b"".join(_encode(op, at, places) for at, op in enumerate(ops))


def _encode(op: Op, at: int, places: dict[str, int]) -> bytes:
    def distance(label: str | None, longest: int) -> int:
        steps = 0 if label is None else places[label] - at - 1
        if not 0 <= steps <= longest:
            raise ValueError(f"jump to {label} is {steps} instructions long")
        return steps

    if op.code == JUMP:
        return INSTRUCTION.pack(op.code, 0, 0, distance(op.if_true, 0xFFFFFFFF))
    return INSTRUCTION.pack(op.code, distance(op.if_true, 255), distance(op.if_false, 255), op.k)
