#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a screenshot shows what it should: pixels.py FILE.png <EXPECTED, where a line is

    pixel X Y RRGGBB     that colour there
    some RRGGBB          more than 20 pixels of that colour

and says what it does not show. Colours may be off by 2."""

import struct
import sys
import zlib


def paeth(left, up, corner):
    a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    return left if a <= b and a <= c else up if b <= c else corner


def read_png(path):
    """Rows of bytes, and how many bytes a pixel has."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            packed += body
        at += size + 12
    assert depth == 8
    step = {2: 3, 6: 4}[colour]
    raw, stride, above, rows = zlib.decompress(packed), width * step, bytearray(width * step), []
    for y in range(height):
        how = raw[y * (stride + 1)]
        line = bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride if how else 0):
            left, corner = (line[x - step], above[x - step]) if x >= step else (0, 0)
            guess = (0, left, above[x], (left + above[x]) // 2, paeth(left, above[x], corner))[how]
            line[x] = line[x] + guess & 255
        rows.append(line)
        above = line
    return rows, step


def main():
    rows, step = read_png(sys.argv[1])
    counts = {}
    for line in rows:
        for x in range(0, len(line), step):
            key = bytes(line[x : x + 3])
            counts[key] = counts.get(key, 0) + 1
    expected = [line.split() for line in sys.stdin if line.startswith(("pixel", "some"))]
    if not expected:
        print("nothing to look for")
    for what, *where, colour in expected:
        wanted = bytes.fromhex(colour)
        if what == "some":
            if counts.get(wanted, 0) <= 20:
                print(f"{counts.get(wanted, 0)} pixels of {colour}")
            continue
        x, y = map(int, where)
        got = bytes(rows[y][x * step : x * step + 3])
        if any(abs(a - b) > 2 for a, b in zip(wanted, got)):
            print(f"{got.hex()} at {x}, {y}, not {colour}")


main()
