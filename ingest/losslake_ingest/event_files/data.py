"""The bytes of a file as numbers that begin anywhere in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]


class Data:
    """A file's bytes, and views of it by which numbers are taken from any offset."""

    def __init__(self, data: bytes) -> None:
        self.raw = data
        self.bytes = np.frombuffer(data, np.uint8)
        self.words: Words = self.numbers("<u8")

    def numbers(self, code: str) -> npt.NDArray[Any]:
        """The numbers of a type that begin at each byte."""
        dtype = np.dtype(code)
        count = max(0, len(self.raw) - dtype.itemsize + 1)
        return np.ndarray((count,), dtype, self.raw if count else bytes(8), strides=(1,))
