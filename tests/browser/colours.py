#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the colours of kinds in a picture can be told apart, and from what is behind them: colours.py FILE...

Each FILE has its colours twice, for light and for dark pages, as CSS variables --name:#rrggbb or "--name: #rrggbb". Two
colours differ if CIEDE2000 finds a distance of 10 between them, as they are and as people see them who lack one of the
three cones (Machado, Oliveira and Fernandes 2009, severity 1). The contrast to --lane is WCAG's, at least 3. All files
have to give a name the same colour."""

import itertools
import math
import re
import sys

VISION = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no long cones": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no middle cones": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no short cones": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.95047, 1, 1.08883)
KINDS = ("k0", "k1", "k2", "k3", "k4", "k5", "k9", "r", "x")


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def linear(colour):
    values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def contrast(a, b):
    low, high = sorted(times(XYZ, linear(c))[1] for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(colour, vision):
    seen = [min(1, max(0, v)) for v in times(vision, linear(colour))]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (v / w for v, w in zip(times(XYZ, seen), WHITE)))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(p, q):
    """CIEDE2000."""
    mean = (math.hypot(*p[1:]) + math.hypot(*q[1:])) / 2
    stretch = 1.5 - 0.5 * math.sqrt(mean**7 / (mean**7 + 25**7))
    a, b = ((c[0], stretch * c[1], c[2]) for c in (p, q))
    chroma = [math.hypot(*c[1:]) for c in (a, b)]
    hue = [math.degrees(math.atan2(c[2], c[1])) % 360 for c in (a, b)]
    turn = (hue[1] - hue[0] + 180) % 360 - 180 if min(chroma) else 0
    middle = (hue[0] + turn / 2) % 360 if min(chroma) else sum(hue)
    light, full = (a[0] + b[0]) / 2, sum(chroma) / 2
    cosine = lambda factor, shift: math.cos(math.radians(factor * middle + shift))
    weight = 1 - 0.17 * cosine(1, -30) + 0.24 * cosine(2, 0) + 0.32 * cosine(3, 6) - 0.2 * cosine(4, -63)
    by_light = (b[0] - a[0]) / (1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2))
    by_chroma = (chroma[1] - chroma[0]) / (1 + 0.045 * full)
    by_hue = 2 * math.sqrt(chroma[0] * chroma[1]) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * full * weight)
    bend = 60 * math.exp(-(((middle - 275) / 25) ** 2))
    rotation = -2 * math.sqrt(full**7 / (full**7 + 25**7)) * math.sin(math.radians(bend))
    return math.sqrt(by_light**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue)


def palettes(path):
    """The colours for light pages and for dark ones."""
    pages = [{}, {}]
    for name, colour in re.findall(r"--(\w+): ?(#[0-9a-f]{6})", open(path, encoding="utf-8").read()):
        pages[name in pages[0]][name] = colour
    return pages


def main():
    files = {path: palettes(path) for path in sys.argv[1:]}
    first = next(iter(files.values()))
    for path, pages in files.items():
        for i, page in enumerate(("light", "dark")):
            print(*(f"{path}, {page}: --{n} is {c}, not {first[i][n]}" for n, c in pages[i].items() if first[i].get(n, c) != c),
                  sep="\n", end="")
    for page, colours in zip(("light", "dark"), first):
        missing = [name for name in KINDS + ("lane",) if name not in colours]
        if missing:
            print(f"{page}: no", *missing)
            continue
        for name in KINDS:
            if contrast(colours[name], colours["lane"]) < 3:
                print(f"{page}: --{name} has a contrast of {contrast(colours[name], colours['lane']):.2f}")
        for (a, b), (vision, matrix) in itertools.product(itertools.combinations(KINDS, 2), VISION.items()):
            apart = distance(lab(colours[a], matrix), lab(colours[b], matrix))
            if apart < 10:
                print(f"{page}, {vision}: --{a} and --{b} are {apart:.1f} apart")


main()
