"""Wheels made on this machine, so that installers need no package index."""

from __future__ import annotations

import base64
import hashlib
import os
import zipfile
from collections.abc import Iterable, Mapping
from email.parser import Parser
from importlib.metadata import Distribution, distribution
from pathlib import Path

# What an installer adds to what a wheel has.
_OF_THE_INSTALLER = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_cache.json"}


def write_wheel(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a wheel with these files, and its list of them."""
    (info,) = {Path(name).parts[0] for name in files if Path(name).parts[0].endswith(".dist-info")}
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    record = f"{info}/RECORD"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in {**files, record: "\n".join([*rows, f"{record},,", ""]).encode()}.items():
            wheel.writestr(name, data)


def small_wheel(folder: Path, name: str, files: Mapping[str, bytes]) -> Path:
    """Write a wheel of version 1.0 in pure Python, and return its path."""
    info = f"{name}-1.0.dist-info"
    facts = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / f"{name}-1.0-py3-none-any.whl"
    write_wheel(path, {**files, **facts})
    return path


def wheels_of_installed(names: Iterable[str], folder: Path) -> None:
    """Write the wheels of distributions that are installed here; their scripts follow from their entry points."""
    for name in names:
        installed = distribution(name)
        files = _files(installed)
        (info,) = {Path(each).parts[0] for each in files if each.endswith(".dist-info/METADATA")}
        tags = Parser().parsestr(files[f"{info}/WHEEL"].decode()).get_all("Tag", [])
        pythons, abis, platforms = (
            ".".join(dict.fromkeys(part)) for part in zip(*(tag.split("-") for tag in tags), strict=True)
        )
        stem = info.removesuffix(".dist-info")
        write_wheel(folder / f"{stem}-{pythons}-{abis}-{platforms}.whl", files)


def installer_environment(wheels: Path) -> dict[str, str]:
    """Return this process's environment, in which pip and uv find packages in a folder and nowhere else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "PYTHONPATH"))}
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    uv = {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(wheels), "UV_NO_CONFIG": "1"}
    return {**kept, **pip, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **uv, "UV_CACHE_DIR": str(wheels / "cache")}


def _files(installed: Distribution) -> dict[str, bytes]:
    listed = [file for file in installed.files or () if ".." not in file.parts and file.suffix != ".pyc"]
    return {
        file.as_posix(): Path(str(file.locate())).read_bytes() for file in listed if file.name not in _OF_THE_INSTALLER
    }


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
