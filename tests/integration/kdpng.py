# SPDX-License-Identifier: Apache-2.0
"""Pictures in PNG: as browsers write them, with 8 bits of red, green, blue and perhaps opacity, and
small ones of 256 colours."""

import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {2: 3, 6: 4}


def chunks(data):
    at = len(SIGNATURE)
    while at < len(data):
        size, = struct.unpack_from(">I", data, at)
        yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
        at += size + 12


def nearest(left, up, corner):
    """Paeth's predictor, section 9.4 of the specification."""
    sum_ = left + up - corner
    return min((abs(sum_ - left), 0, left), (abs(sum_ - up), 1, up), (abs(sum_ - corner), 2, corner))[2]


def unfiltered(kind, line, above, channels):
    """The bytes of a line, which is stored as differences from the bytes to the left and above."""
    if kind == 2:
        return bytearray((value + up) & 255 for value, up in zip(line, above))
    line = bytearray(line)
    for i, up in enumerate(above if kind else ()):
        left, corner = (line[i - channels], above[i - channels]) if i >= channels else (0, 0)
        line[i] = (line[i] + (left if kind == 1 else (left + up) // 2 if kind == 3
                              else nearest(left, up, corner))) & 255
    return line


def decode(data):
    """The lines of the picture, from the top: each a list of (red, green, blue)."""
    assert data.startswith(SIGNATURE)
    found = list(chunks(data))
    width, height, depth, kind = struct.unpack_from(">IIBB", dict(found)[b"IHDR"])
    assert depth == 8
    channels = CHANNELS[kind]
    packed = zlib.decompress(b"".join(part for name, part in found if name == b"IDAT"))
    size, lines = width * channels, []
    above = bytearray(size)
    for y in range(height):
        at = y * (size + 1)
        above = unfiltered(packed[at], packed[at + 1:at + 1 + size], above, channels)
        lines.append(list(zip(*(above[each::channels] for each in range(3)))))
    return lines


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def encode(lines):
    """Encodes such lines in their 256 most frequent colours; others become the nearest of these."""
    counts = collections.Counter(colour for line in lines for colour in line)
    palette = [colour for colour, _ in counts.most_common(256)]
    numbers = {colour: min(range(len(palette)), key=lambda i, colour=colour: sum(
        (a - b) ** 2 for a, b in zip(palette[i], colour))) for colour in counts}
    packed = zlib.compress(b"".join(bytes([0, *(numbers[colour] for colour in line)])
                                    for line in lines), 9)
    header = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, 3, 0, 0, 0)
    return (SIGNATURE + chunk(b"IHDR", header) + chunk(b"PLTE", bytes(sum(palette, ()))) +
            chunk(b"IDAT", packed) + chunk(b"IEND", b""))
