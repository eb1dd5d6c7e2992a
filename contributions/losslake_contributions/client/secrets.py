"""Patterns of secrets, people and machines in texts, and what each becomes; names of keys announce others.

The ingest drops a field for any doubt (`losslake_ingest.readers.private`, whose names of keys serve here, too). What
someone sends is worth more: only the private part of a text is replaced, and the rest stays readable.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from losslake_ingest.readers import private
from losslake_schema.package_files import read_toml

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

ADDRESS = "IP address"
LONG = "long text"
LONGEST_TEXT = 10_000
_SHORTEST_SECRET = 16
_SEPARATORS = b",&()[]{}|<>=#"
_SEPARATORS_AS_SPACES = bytes.maketrans(_SEPARATORS, b" " * len(_SEPARATORS))


@dataclass(frozen=True)
class Replaced:
    """A part of a text that was replaced. kind: of private data; became: what stands there now."""

    kind: str
    became: str


_Replace = Callable[[re.Match[str], str], str | None]
_DATA: Mapping[str, Sequence[str]] = read_toml("losslake_contributions.client", "secrets.toml")
_ANY = {name: "|".join(patterns) for name, patterns in _DATA.items()}


def _mark(_: re.Match[str], kind: str) -> str:
    return f"[{kind}]"


def _after_name(match: re.Match[str], kind: str) -> str | None:
    return None if match["value"].startswith("[") else f"{match['name']}[{kind}]"


def _address(match: re.Match[str], kind: str) -> str | None:
    """Return the mark for a valid address, except of this machine, and except a version, as in cuDNN 8.9.2.26."""
    try:
        address = ipaddress.ip_address(match[0].strip("[]"))
    except ValueError:
        return None
    before = match.string[: match.start()].rstrip(" :=v").lower()
    is_version = address.version == 4 and bool(re.search(r"[a-z+-]$", before) and _VERSIONED.search(before))
    return None if is_version or address.is_loopback or address.is_unspecified else f"[{kind}]"


_VERSIONED = re.compile(r"(?:version|cud[an]+|cudnn|nccl|driver|torch|tensorrt|rocm|release|sdk|python)\W*$")
# Bounded, as file systems do, so that a text that is no path takes no time.
_PART = r"[\w.+~@%=,-]{1,255}"
_PATHS = (
    rf"(?:file:)?(?<![\w.:/*)\]-])~?/(?:{_PART}/)+(?:{_PART})?"  # /a/b, ~/a/b, file:/a/b
    rf"|(?:file:)?(?<![\w.:/*)\]-])/(?:{_ANY['people']}|{_ANY['roots']})\b(?:/{_PART})*"
    rf"|file://(?:/?{_PART})+/?|(?<![\w/])~\w*/{_PART}"
    rf"|(?<![A-Za-z0-9])[A-Za-z]:[\\/](?![/\\])(?:[^\s\\/:*?\"<>|]+[\\/])*[^\s\\/:*?\"<>|]*"  # C:\a\b
    rf"|\\\\[\w.$-]+(?:\\[^\s\\/:*?\"<>|]+)+"  # \\server\share
    rf"|(?<![\w:/])(?:{_PART}/){{0,32}}(?:home|[Uu]sers)/{_PART}(?:/{_PART})*"  # relative, through a home
    rf"|(?<!:/)/(?:{_ANY['people']})/{_PART}(?:/{_PART})*"  # wherever it begins
)
_IS_PERSON = re.compile(rf"(?:^|[\\/])(?:{_ANY['people']})[\\/]+[^\\/]+[\\/]*$|^~|^(?:[A-Za-z]:)?[\\/]*root[\\/]*$")


def _path(match: re.Match[str], kind: str) -> str | None:
    """Return the base name of a path, or a mark where that names a person."""
    path = match[0].rstrip("\\/")
    base = re.split(r"[\\/]", path)[-1]
    is_person = _IS_PERSON.search(match[0]) and not re.search(r"^~[^\\/]*[\\/]", match[0])
    return f"[{kind}]" if is_person or not base.strip(".~:") else base


_SIGNED = rf"(?i)(?P<name>[?&](?:{_ANY['signed_parameters']})=)(?P<value>[^&\s\"'<>#]{{8,}})"
_NAMED_SECRET = (
    rf"(?i)(?P<name>(?<![\w-])[\w-]*?(?:{_ANY['secret_names']})[\w-]*[\"']?\s*[=:]\s*[\"']?)"
    r"(?P<value>[^\s\"',;&]{8,})"
)
_PATTERNS: Sequence[tuple[str, str, _Replace]] = (
    (private.SECRETS, r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", _mark),
    (private.SECRETS, _ANY["links"], _mark),
    (private.SECRETS, _SIGNED, _after_name),
    (private.SECRETS, r"(?<=://)[^/\s@]*+@", lambda _, kind: f"[{kind}]@"),
    (private.SECRETS, rf"(?<![A-Za-z0-9])(?:{_ANY['tokens']})", _mark),
    (private.SECRETS, r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/-]{16,}=*", _mark),
    (private.SECRETS, _NAMED_SECRET, _after_name),
    (private.EMAIL, r"(?<![\w.%+-])[\w.%+-]++@(?:[\w-]++\.)+[A-Za-z]{2,}", _mark),
    (private.PATHS, _PATHS, _path),
    (
        private.HOST,
        r"(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.(?:local|internal|lan|cluster|corp|intra|intranet|localdomain)\b(?![\w(/])",
        _mark,
    ),
    (ADDRESS, r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])", _address),
    (ADDRESS, r"(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])", _address),
    (private.HOST, r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])", _mark),
    # TensorBoard names its event files by time and host.
    (private.HOST, r"(?<=events\.out\.tfevents\.)(?P<time>\d+)\.[\w.-]+", lambda match, _: match["time"]),
)
_COMPILED = [(kind, re.compile(pattern), replace) for kind, pattern, replace in _PATTERNS]
_HEX_KEY = re.compile(r"[0-9a-fA-F]{32,}")
_KEY_NAMES = re.compile(r"(?i)(?:^|[^a-z])(?:key|wandb|token|secret)(?:$|[^a-z])")
_ANNOUNCED = {private.SECRETS, private.HOST, private.USER, private.EMAIL, private.ENVIRONMENT, private.PATHS}
# A machine that is called like a word of the marks themselves, such as "name", would be found in each of them.
_WORDS_OF_MARKS = {word for kind in (*_ANNOUNCED, ADDRESS, LONG) for word in (kind.lower(), *kind.lower().split())}
# Values that say whether there is one, or which: they identify nobody.
_HARMLESS_VALUES = re.compile(
    r"(?i)(?:none|null|true|false|yes|no|default|auto|unknown|n/a|localhost|minimize|maximize|[\[(].*[\])])?"
)


def clean_text(text: str) -> tuple[str, list[Replaced]]:
    """Return a text without private data, and what was replaced, in order of the patterns."""
    replaced: list[Replaced] = []
    if len(text) > LONGEST_TEXT:
        mark = f"[{LONG} of {len(text):,} characters]"
        return mark, [Replaced(LONG, mark)]
    text = _without_known_secrets(text, replaced)
    for kind, pattern, replace in _COMPILED:
        text = pattern.sub(partial(_noted, kind, replace, replaced), text)
    return text, replaced


def _without_known_secrets(text: str, replaced: list[Replaced]) -> str:
    """Return a text without what a rule of Kingfisher takes for a secret."""
    if len(text) < _SHORTEST_SECRET:
        return text
    data = text.encode("utf-8", "surrogatepass")
    # Most rules ask for a space or a quote after a token.
    texts = {data, data.translate(_SEPARATORS_AS_SPACES)}
    locations = [finding.location for each in texts for finding in _scanner().scan(each) if finding.visible]
    parts: list[list[int]] = []
    for first, last in sorted((location["start_offset"], location["end_offset"]) for location in locations):
        if parts and first <= parts[-1][1]:
            parts[-1][1] = max(last, parts[-1][1])
        else:
            parts.append([first, last])
    mark = f"[{private.SECRETS}]"
    for first, last in reversed(parts):
        data = data[:first] + mark.encode() + data[last:]
        replaced.append(Replaced(private.SECRETS, mark))
    return data.decode("utf-8", "surrogatepass")


@cache
def _scanner() -> Scanner:
    """Return the scanner of Kingfisher with all of its rules; loading them takes 0.4 s, and 5 s the first time.

    It uses no network: https://github.com/mongodb/kingfisher/blob/main/docs/PYPI.md
    """
    from kingfisher_sdk import Rules, Scanner

    return Scanner(Rules(confidence="low"))


def _noted(kind: str, replace: _Replace, replaced: list[Replaced], match: re.Match[str]) -> str:
    became = replace(match, kind)
    if became is None or became == match[0]:
        return match[0]
    replaced.append(Replaced(kind, became))
    return became


def announced_kind(key: str, value: object) -> str | None:
    """Return the kind of private data that the name of a parameter announces; None for none, or a harmless value."""
    if isinstance(value, str) and _HARMLESS_VALUES.fullmatch(value.strip()):
        return None
    kind = private.private_key(key, isinstance(value, str))
    if kind in _ANNOUNCED:
        return kind
    is_key = isinstance(value, str) and _HEX_KEY.fullmatch(value.strip()) and _KEY_NAMES.search(key)
    return private.SECRETS if is_key else None


def words_to_remove(words: dict[str, str], kept: set[str]) -> Iterator[tuple[re.Pattern[str], str]]:
    """Yield patterns of names of people and machines that were found, unless they are words of the workload."""
    for word, kind in words.items():
        if private.is_distinctive(word) and word.lower() not in kept | _WORDS_OF_MARKS:
            yield re.compile(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])", re.IGNORECASE), kind
