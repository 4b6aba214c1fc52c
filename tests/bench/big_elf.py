#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a program of 1 GiB with a million symbols, which sleeps when it is run.

usage: big_elf.py FILE [SYMBOLS]

The file is sparse: what it takes of the disk is the table of symbols. The names
are as long as those of C++ programs are on average. Prints the address of the last
function, whose name is "the_last_function"."""

import os
import platform
import struct
import sys

SIZE = 1 << 30
FUNCTIONS = 1_000_000
BASE = 0x400000
CODE = 0x1000  # where the code is in the file
STEP = 512  # bytes from function to function
FUNC, GLOBAL, OBJECT = 2, 1 << 4, 1
PROGBITS, SYMTAB, STRTAB = 1, 2, 3

# Wait for a signal, again and again: pause() and ppoll(NULL, 0, NULL, NULL).
MACHINES = {
    "x86_64": (62, bytes.fromhex("b822000000 0f05 ebf7")),
    "aarch64": (183, struct.pack("<7I", 0xd2800920, 0xaa0003e8, 0xd2800000, 0xd2800001,
                                 0xd2800002, 0xd2800003, 0xd4000001)
                + struct.pack("<I", 0x17fffff9)),
}


def tables(functions):
    """The symbol table and its names."""
    entry, symbols = struct.Struct("<IBBHQQ"), bytearray(24)
    names, at = [b"\0"], 1
    for number in range(functions):
        name = (b"the_last_function\0" if number == functions - 1 else
                b"_ZN7network%02d10dispatcher16handle_%07d_eventERKNS_6bufferEj\0"
                % (number % 97, number))
        kind = OBJECT if number % 16 == 5 and number < functions - 1 else FUNC
        symbols += entry.pack(at, GLOBAL | kind, 0, 1, BASE + CODE + number * STEP, 300)
        names.append(name)
        at += len(name)
    return symbols, b"".join(names)


def write(path, functions=FUNCTIONS):
    """Writes the program; returns the address of its last function."""
    machine, code = MACHINES[platform.machine()]
    symbols, strings = tables(functions)
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    parts = (symbols, strings, names)
    headers_at = SIZE - 5 * 64
    at = [headers_at - sum(map(len, parts[index:])) & ~7 for index in range(3)]
    at[1] = at[0] + len(symbols)
    at[2] = at[1] + len(strings)
    code_size = functions * STEP
    if CODE + code_size > at[0]:
        sys.exit(f"{functions} functions do not fit")
    section = struct.Struct("<IIQQQQIIQQ").pack
    with open(path, "wb") as stream:
        stream.write(struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, machine, 1,
                                 BASE + CODE, 64, headers_at, 0, 64, 56, 1, 64, 5, 4))
        stream.write(struct.pack("<IIQQQQQQ", 1, 5, CODE, BASE + CODE, BASE + CODE,
                                 code_size, code_size, 0x1000))
        stream.seek(CODE)
        stream.write(code)
        for offset, part in zip(at, parts):
            stream.seek(offset)
            stream.write(part)
        stream.seek(headers_at)
        stream.write(section(0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        stream.write(section(1, PROGBITS, 6, BASE + CODE, CODE, code_size, 0, 0, 16, 0))
        stream.write(section(7, SYMTAB, 0, 0, at[0], len(symbols), 3, 1, 8, 24))
        stream.write(section(15, STRTAB, 0, 0, at[1], len(strings), 0, 0, 1, 0))
        stream.write(section(23, STRTAB, 0, 0, at[2], len(names), 0, 0, 1, 0))
    os.chmod(path, 0o755)
    return BASE + CODE + (functions - 1) * STEP


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    print(hex(write(sys.argv[1], *map(int, sys.argv[2:]))))
