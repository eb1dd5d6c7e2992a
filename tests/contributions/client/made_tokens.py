"""Tokens made up by the formats of token_formats.toml."""

from __future__ import annotations

import random
import re
import string
import tomllib
from pathlib import Path

FORMATS: dict[str, str] = tomllib.loads(Path(__file__).with_name("token_formats.toml").read_text("utf-8"))
LETTERS = {
    "A": string.ascii_letters + string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "D": string.digits,
    "H": "0123456789abcdef",
    "S": string.ascii_letters,
    "U": string.ascii_uppercase + string.digits,
    "W": string.ascii_letters + string.digits + "_-",
}


def made(pattern: str, seed: int) -> tuple[str, str]:
    """Return a text with a token of a format, and the token."""
    rng = random.Random(seed)
    filled = re.sub(
        r"\{([A-Z])(\d+)\}", lambda match: "".join(rng.choices(LETTERS[match[1]], k=int(match[2]))), pattern
    )
    marked = re.search(r"\[(.*)\]", filled)
    return re.sub(r"[\[\]]", "", filled), marked[1] if marked else filled
