# SPDX-License-Identifier: MIT
"""The tables of clstream/capi.py against the C headers. HEADERS names the headers; CC compiles the layouts."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from clstream import capi

HEADERS = [pathlib.Path(path) for path in os.environ["HEADERS"].split()]
SCALARS = {"size_t": "z", "unsigned": "u", "uint64_t": "q", "double": "d", "int": "i", "cls_value": "q",
           "cls_array": "A", "cls_matrix": "M", "cls_vector": "V", "cls_strided": "T"}


def letter(parameter, handles):
    words = re.sub(r"\b(const|struct)\b", "", parameter).replace("*", " * ").split()
    if words[:2] == ["char", "*"] and "const" in parameter:
        return "s"
    if "*" in words or words[0] in handles or words[0].startswith("cl_") or words[0].endswith(("_fn", "_callback")):
        return "p"
    return SCALARS.get(words[0], "i")  # what is left are enums


class Headers(unittest.TestCase):
    def test_prototypes(self):
        text = re.sub(r"/\*.*?\*/", "", "".join(path.read_text() for path in HEADERS), flags=re.S)
        handles = set(re.findall(r"typedef struct \w+_handle \*(\w+);", text))
        declared = {}
        for result, name, parameters in re.findall(r"CLS_API\s+([\w\s]+?\s\*?)(cls_\w+)\(([^;]*?)\);", text):
            kinds = "".join(letter(parameter, handles) for parameter in parameters.split(",")
                            if parameter.strip() != "void")
            declared[name] = (kinds, "s" if "*" in result else "i")
        self.assertGreater(len(declared), 200)
        for name, parameters, result in capi.prototypes():
            self.assertEqual((parameters, result), declared.get(name), name)

    def test_layouts(self):
        lines = ["#include <stddef.h>", "#include <clstream.h>"]
        for name, struct in capi.STRUCTS.items():
            if not issubclass(struct, capi.Sized):
                lines.append(f'_Static_assert(sizeof({name}) == {capi.ctypes.sizeof(struct)}, "{name}");')
            for field, _ in struct._fields_:
                offset = getattr(struct, field).offset
                lines.append(f'_Static_assert(offsetof({name}, {field}) == {offset}, "{name}.{field}");')
        with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
            source.write("\n".join(lines) + "\n")
            source.flush()
            includes = sorted({f"-I{path.parent}" for path in HEADERS} | {f"-I{path.parent.parent}" for path in HEADERS})
            said = subprocess.run([*os.environ["CC"].split(), "-fsyntax-only", *includes, source.name],
                                  capture_output=True, text=True, check=False)
        self.assertEqual((said.returncode, said.stderr), (0, ""))


if __name__ == "__main__":
    # Drivers write to the standard error.
    unittest.main(testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
