#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stack that BPF programs need together with all functions below them, counted as kernels
before 6.9 do: each frame is rounded up to a multiple of 32 bytes (check_max_stack_depth_subprog()
rounds less since then, where there is a compiler), and no more than 512 bytes and 8 frames are
allowed. The kernel that the tests run on may allow what an older one refuses."""

import collections
import struct

import lint

BYTES, FRAMES, UNIT = 512, 8, 32
SYMTAB, REL, PROGBITS, EXECUTABLE = 2, 9, 1, 4
FUNCTION = 2
CALL, PSEUDO = 0x85, 1
MOVE, ADD = 0xbf, 0x07
STORES_AND_LOADS = (1, 2, 3)  # classes: BPF_LDX, BPF_ST, BPF_STX
FRAME = 10  # the register

Instruction = collections.namedtuple("Instruction", "code to source offset value")


class Object:
    """The functions of a BPF object: the stack that each uses itself, and what it calls."""

    def __init__(self, path):
        self.data = path.read_bytes()
        start, = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        # (name, type, flags, address, offset, size, link, info)
        self.sections = [struct.unpack_from("<IIQQQQII", self.data, start + i * size)
                         for i in range(count)]
        self.own, self.calls, self.starts = {}, {}, {}
        symbols = next(section for section in self.sections if section[1] == SYMTAB)
        # (name, info, other, section, value, size)
        self.symbols = [struct.unpack_from("<IBBHQQ", self.data, at)
                        for at in range(symbols[4], symbols[4] + symbols[5], 24)]
        self.names = self.sections[symbols[6]][4]
        found = [symbol for symbol in self.symbols if symbol[1] & 15 == FUNCTION]
        for symbol in found:
            self.starts[symbol[3], symbol[4]] = self.name(symbol)
        for symbol in found:
            self.read(symbol)

    def name(self, symbol):
        start = self.names + symbol[0]
        return self.data[start:self.data.index(b"\0", start)].decode()

    def relocations(self, section):
        """{offset: symbol} of a section."""
        return {offset: self.symbols[info >> 32]
                for _, kind, _, _, start, size, _, of in self.sections
                if kind == REL and of == section
                for offset, info in struct.iter_unpack("<QQ", self.data[start:start + size])}

    def callee(self, at, instruction, section, relocations):
        """The target of a call: a function, an offset in a section, or one relative to the call."""
        symbol = relocations.get(at)
        if symbol and symbol[1] & 15 == FUNCTION:
            return self.name(symbol)
        place = symbol[3] if symbol else section
        return self.starts[place, 8 * (instruction.value + 1) + (0 if symbol else at)]

    def read(self, symbol):
        section, start, size = symbol[3:6]
        text, name = self.sections[section][4], self.name(symbol)
        relocations, copies, deepest = self.relocations(section), set(), 0
        self.calls[name] = set()
        for at in range(start, start + size, 8):
            code, registers, offset, value = struct.unpack_from("<BBhi", self.data, text + at)
            instruction = Instruction(code, registers & 15, registers >> 4, offset, value)
            if code == CALL and instruction.source == PSEUDO:
                self.calls[name].add(self.callee(at, instruction, section, relocations))
            elif code == MOVE:
                copies.discard(instruction.to)
                if instruction.source == FRAME:
                    copies.add(instruction.to)
            elif code == ADD and instruction.to in copies:
                deepest = max(deepest, -value)
                copies.discard(instruction.to)
            elif code & 7 in STORES_AND_LOADS and FRAME == (
                    instruction.source if code & 7 == 1 else instruction.to):
                deepest = max(deepest, -offset)
        self.own[name] = deepest

    def chain(self, name, known):
        """(bytes, [(function, own bytes)...]) of the deepest chain, (frames, [...]) of the longest."""
        if name not in known:
            below = [self.chain(callee, known) for callee in self.calls[name]]
            deep = max((each[0] for each in below), default=(0, []))
            long = max((each[1] for each in below), default=(0, []))
            need = -(-max(self.own[name], 1) // UNIT) * UNIT
            here = [(name, self.own[name])]
            known[name] = (deep[0] + need, here + deep[1]), (long[0] + 1, here + long[1])
        return known[name]


def case_stack(test):
    found = sorted((lint.ROOT / "build" / "gen").glob("kernel_delay*.bpf.o"))
    if not found:
        raise lint.Skip("nothing is built")
    test.eq(len(found), 2, "with and without the code for traces")
    for path in found:
        known, functions = {}, Object(path)
        chains = [functions.chain(name, known) for name in functions.own]
        (most, deepest), (frames, longest) = (max(each) for each in zip(*chains))
        test.ok(UNIT < most <= BYTES, f"{path.name} needs at most {BYTES} bytes", most, *deepest)
        test.ok(2 < frames <= FRAMES, f"{path.name} needs at most {FRAMES} frames", *longest)
        print(f"# {path.name}: {most} bytes in {deepest}")


lint.main(case_stack)
