"""Patterns of secrets, people and machines in texts, and what each becomes; names of keys announce others.

The ingest drops a field for any doubt (`losslake_ingest.readers.private`, whose names of keys serve here, too). What
someone sends is worth more: only the private part of a text is replaced, and the rest stays readable.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from losslake_ingest.readers import private

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


_Replace = Callable[[re.Match[str]], str | None]


def _marked(kind: str) -> _Replace:
    return lambda _: f"[{kind}]"


# What the rules of Kingfisher lack. It asks for exact lengths and for letters that look random: of services that
# trainings use, whatever begins with the prefix of a token is replaced.
_TOKENS = (
    r"sk-(?:[A-Za-z]+\d*-){0,3}[A-Za-z0-9_]{16}[A-Za-z0-9_-]*"  # OpenAI, Anthropic and others
    r"|hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}"  # Hugging Face
    r"|gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
    r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"
    # https://cloud.google.com/docs/authentication/token-types and https://support.google.com/cloud/answer/6158849
    r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}"  # Slack
    r"|wandb_v\d_[A-Za-z0-9_-]{16,}|local-[0-9a-f]{40}"  # Weights & Biases
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?"  # JSON web tokens
    r"|llc_[A-Za-z0-9-]+_[A-Za-z0-9_-]{16,}"  # LossLake: docs/contributions.md
    # https://learn.microsoft.com/purview/sit-defn-azure-ad-client-secret
    r"|[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}"
    # https://learn.microsoft.com/azure/devops/organizations/accounts/use-personal-access-tokens-to-authenticate
    r"|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"
    r"|\d{8,10}:AA[A-Za-z0-9_-]{33}"  # https://core.telegram.org/bots/api
    r"|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"  # https://docs.discord.com/developers/reference
    r"|key-[0-9a-f]{32}(?![0-9a-f])"  # https://documentation.mailgun.com/docs/mailgun/api-reference/authentication
    r"|[0-9a-f]{32}-us\d{1,2}(?!\w)"  # https://mailchimp.com/developer/marketing/docs/fundamentals/
    r"|NRAK-[A-Z0-9]{20,}"  # https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/
    r"|sntry[su]_[A-Za-z0-9_+/=.-]{40,}"  # https://docs.sentry.io/account/auth-tokens/
    r"|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"  # https://docs.langchain.com/langsmith/create-account-api-key
    r"|fw_[A-Za-z0-9]{22,24}(?!\w)"  # https://docs.fireworks.ai/api-reference/introduction
    r"|a[ks]-[A-Za-z0-9]{22}(?!\w)"  # https://modal.com/docs/reference/modal.config
)
# Links that are secrets themselves: who has them may write to a channel, or read a file.
# https://docs.discord.com/developers/resources/webhook, https://learn.microsoft.com/rest/api/storageservices/create-service-sas,
# https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html, https://cloud.google.com/storage/docs/authentication/signatures
_LINKS = (
    r"https?://(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[\w-]+"
    r"|https?://[\w.-]+\.webhook\.office\.com/[^\s\"'<>]+"
)
_SIGNED = (
    r"(?i)(?P<name>[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)|awsaccesskeyid|googleaccessid"
    r"|token|access_token|api_key|apikey|key)=)(?P<value>[^&\s\"'<>#]{8,})"
)
_NAMED_SECRET = (
    r"(?i)(?P<name>(?<![\w-])[\w-]*?(?:api[_-]?key|access[_-]?key|secret|password|passwd|pwd|auth[_-]?token|access[_-]?token"
    r"|bearer[_-]?token|hf[_-]?token|wandb[_-]?key)[\w-]*[\"']?\s*[=:]\s*[\"']?)(?P<value>[^\s\"',;&]{8,})"
)


def _after_name(match: re.Match[str]) -> str | None:
    value = match["value"]
    return None if value.startswith("[") else f"{match['name']}[{private.SECRETS}]"


def _address(match: re.Match[str]) -> str | None:
    """Return the mark for a valid address, except of this machine, and except a version, as in cuDNN 8.9.2.26."""
    try:
        address = ipaddress.ip_address(match[0].strip("[]"))
    except ValueError:
        return None
    before = match.string[: match.start()].rstrip(" :=v").lower()
    is_version = address.version == 4 and bool(re.search(r"[a-z+-]$", before) and _VERSIONED.search(before))
    return None if is_version or address.is_loopback or address.is_unspecified else f"[{ADDRESS}]"


_VERSIONED = re.compile(r"(?:version|cud[an]+|cudnn|nccl|driver|torch|tensorrt|rocm|release|sdk|python)\W*$")
# What leads to files of a machine. Below them the first folder often names a person.
_PEOPLE = r"home|users|root|export/home|var/home|Users"
_ROOTS = (
    rf"{_PEOPLE}|mnt|data\d*|tmp|scratch\d*|nfs|opt|usr|var|etc|srv|media|gpfs\w*|lustre\w*|beegfs\w*|work\d*|workspace|"
    r"content|kaggle|proj|project|projects|storage|network|fsx|efs|shared?|private|Volumes|dev|proc|run|raid\w*|ssd\w*|"
    r"nvme\w*|dbfs|gscratch|cluster|checkpoints?|output|outputs|results|datasets?|code|app|root"
)
# Bounded, as file systems do, so that a text that is no path takes no time.
_PART = r"[\w.+~@%=,-]{1,255}"
_PATHS = (
    rf"(?:file:)?(?<![\w.:/*)\]-])~?/(?:{_PART}/)+(?:{_PART})?"  # /a/b, ~/a/b, file:/a/b
    rf"|(?:file:)?(?<![\w.:/*)\]-])/(?:{_ROOTS})\b(?:/{_PART})*"
    rf"|file://(?:/?{_PART})+/?|(?<![\w/])~\w*/{_PART}"
    rf"|(?<![A-Za-z0-9])[A-Za-z]:[\\/](?![/\\])(?:[^\s\\/:*?\"<>|]+[\\/])*[^\s\\/:*?\"<>|]*"  # C:\a\b
    rf"|\\\\[\w.$-]+(?:\\[^\s\\/:*?\"<>|]+)+"  # \\server\share
    rf"|(?<![\w:/])(?:{_PART}/){{0,32}}(?:home|[Uu]sers)/{_PART}(?:/{_PART})*"  # relative, through a home
    rf"|(?<!:/)/(?:{_PEOPLE})/{_PART}(?:/{_PART})*"  # wherever it begins
)
_IS_PERSON = re.compile(rf"(?:^|[\\/])(?:{_PEOPLE})[\\/]+[^\\/]+[\\/]*$|^~|^(?:[A-Za-z]:)?[\\/]*root[\\/]*$")


def _path(match: re.Match[str]) -> str | None:
    """Return the base name of a path, or a mark where that names a person."""
    path = match[0].rstrip("\\/")
    base = re.split(r"[\\/]", path)[-1]
    is_person = _IS_PERSON.search(match[0]) and not re.search(r"^~[^\\/]*[\\/]", match[0])
    return f"[{private.PATHS}]" if is_person or not base.strip(".~:") else base


_PATTERNS: list[tuple[re.Pattern[str], str, _Replace]] = [
    (re.compile(pattern), kind, replace)
    for pattern, kind, replace in (
        (
            r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            private.SECRETS,
            _marked(private.SECRETS),
        ),
        (_LINKS, private.SECRETS, _marked(private.SECRETS)),
        (_SIGNED, private.SECRETS, _after_name),
        (r"(?<=://)[^/\s@]*+@", private.SECRETS, lambda _: f"[{private.SECRETS}]@"),
        (rf"(?<![A-Za-z0-9])(?:{_TOKENS})", private.SECRETS, _marked(private.SECRETS)),
        (r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/-]{16,}=*", private.SECRETS, _marked(private.SECRETS)),
        (_NAMED_SECRET, private.SECRETS, _after_name),
        (r"(?<![\w.%+-])[\w.%+-]++@(?:[\w-]++\.)+[A-Za-z]{2,}", private.EMAIL, _marked(private.EMAIL)),
        (_PATHS, private.PATHS, _path),
        (
            r"(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.(?:local|internal|lan|cluster|corp|intra|intranet|localdomain)\b(?![\w(/])",
            private.HOST,
            _marked(private.HOST),
        ),
        (r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])", ADDRESS, _address),
        (r"(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])", ADDRESS, _address),
        (r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])", private.HOST, _marked(private.HOST)),
        # TensorBoard names its event files by time and host.
        (r"(?<=events\.out\.tfevents\.)(?P<time>\d+)\.[\w.-]+", private.HOST, lambda match: match["time"]),
    )
]
_HEX_KEY = re.compile(r"[0-9a-fA-F]{32,}")
_KEY_NAMES = re.compile(r"(?i)(?:^|[^a-z])(?:key|wandb|token|secret)(?:$|[^a-z])")
_ANNOUNCED = {private.SECRETS, private.HOST, private.USER, private.EMAIL, private.ENVIRONMENT, private.PATHS}
# Values that say whether there is one, or which: they identify nobody.
_HARMLESS_VALUES = re.compile(r"(?i)(?:none|null|true|false|yes|no|default|auto|unknown|n/a|localhost|[\[(].*[\])])?")


def clean_text(text: str) -> tuple[str, list[Replaced]]:
    """Return a text without private data, and what was replaced, in order of the patterns."""
    replaced: list[Replaced] = []
    if len(text) > LONGEST_TEXT:
        mark = f"[{LONG} of {len(text):,} characters]"
        return mark, [Replaced(LONG, mark)]
    text = _without_known_secrets(text, replaced)
    for pattern, kind, replace in _PATTERNS:
        text = pattern.sub(lambda match, r=replace, k=kind: _noted(match, r, k, replaced), text)  # type: ignore[misc]
    return text, replaced


def _without_known_secrets(text: str, replaced: list[Replaced]) -> str:
    """Return a text without what a rule of Kingfisher takes for a secret."""
    if len(text) < _SHORTEST_SECRET:
        return text
    data = text.encode("utf-8", "surrogatepass")
    # Most rules ask for a space or a quote after a token.
    texts = {data, data.translate(_SEPARATORS_AS_SPACES)}
    found = [finding.location for each in texts for finding in _scanner().scan(each) if finding.visible]
    parts: list[list[int]] = []
    for first, last in sorted((place["start_offset"], place["end_offset"]) for place in found):
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


def _noted(match: re.Match[str], replace: _Replace, kind: str, replaced: list[Replaced]) -> str:
    became = replace(match)
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
        if private.is_distinctive(word) and word.lower() not in kept:
            yield re.compile(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])", re.IGNORECASE), kind
