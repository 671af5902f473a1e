# SPDX-License-Identifier: MIT
"""The build backend of the Python package (PEP 517). The package is pure Python, so a wheel is a zip of its files with
the metadata of pyproject.toml; writing it here lets `pip install .` work without a network."""
import base64
import hashlib
import pathlib
import re
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).parent
SETTINGS = (ROOT / "pyproject.toml").read_text()


def _setting(name):
    return re.search(rf'^{name} = "(.*)"$', SETTINGS, re.M).group(1)


NAME, VERSION = _setting("name"), _setting("version")


def _metadata():
    needs = re.search(r"^dependencies = \[(.*)\]$", SETTINGS, re.M).group(1)
    lines = ["Metadata-Version: 2.1", f"Name: {NAME}", f"Version: {VERSION}", f"Summary: {_setting('description')}",
             f"Requires-Python: {_setting('requires-python')}", "License: MIT"]
    lines += [f"Requires-Dist: {need}" for need in re.findall(r'"(.*?)"', needs)]
    return "\n".join(lines) + "\n"


def _sources():
    """The files of the package."""
    return [path for path in sorted((ROOT / NAME).iterdir()) if path.suffix in (".py", ".pyi", ".typed")]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, {f"{NAME}/{path.name}": path.read_bytes() for path in _sources()})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """For `pip install --editable`: the wheel names this folder (PEP 660)."""
    return _write_wheel(wheel_directory, {f"{NAME}.pth": f"{ROOT.resolve()}\n".encode()})


def _write_wheel(wheel_directory, files):
    info = f"{NAME}-{VERSION}.dist-info"
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: clstream\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"{NAME}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    name = f"{NAME}-{VERSION}"
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for path in [ROOT / "pyproject.toml", pathlib.Path(__file__), *_sources()]:
            archive.add(path, f"{name}/{path.relative_to(ROOT)}")
    return f"{name}.tar.gz"
