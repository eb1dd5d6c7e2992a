"""What a W&B log says of a person or a machine: told by a key's name or by its value, noted by its kind, never kept.

The lists are data. A false alarm costs one field of a run; what is missed would be published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from losslake_ingest.run_log import Scalar

LONGEST_TEXT = 2000

EMAIL, USER, HOST, ENTITY = "e-mail", "user name", "host name", "entity"
CODE, GIT, ENVIRONMENT, PATHS, SECRETS = "code and command line", "git", "environment", "path", "secret"
CONSOLE, INTERNAL, NOTES = "console output", "W&B internals", "notes"

# Words of the last part of a key, as `_word_word_`; only texts are dropped for them, since numbers name nobody.
_NAMES = {
    EMAIL: r"e?mail|e_mail",
    USER: r"user|username|users|login|author|owner|account|full_name|whoami",
    HOST: r"host|hosts|hostname|nodename|node_name|nodelist|node_list|machine|fqdn|ip|master_addr|master_address|uname",
    ENTITY: r"entity|team",
    CODE: r"code|program|script|argv|args|arguments|cmd|cmdline|command|executable|interpreter|notebook|source_code",
    GIT: r"git|remote|repo|repository|commit|sha",
    ENVIRONMENT: r"environ|environment_variables|env_vars|getenv",
    PATHS: r"cwd|home|homedir|workdir",
    SECRETS: r"secret|secrets|password|passwd|pwd|api_key|apikey|access_key|private_key|credentials?|auth|cookie|netrc"
    r"|(?:(?:api|auth|access|hub|hf|use|bearer|refresh)_)?token",
}
_NAME_PATTERNS = [(re.compile(f"_(?:{words})_"), kind) for kind, words in _NAMES.items()]
# A tokenizer's own tokens are parameters.
_HARMLESS_TOKEN = re.compile(r"_(?:pad|bos|eos|unk|sep|cls|mask|image|start|stop|end|special)_token_")

# Whole parts of a key under which nothing is kept, not even numbers.
_PARENTS = {
    "_wandb": INTERNAL,
    "wandb_version": INTERNAL,
    "git": GIT,
    "host": HOST,
    "hosts": HOST,
    "user": USER,
    "environ": ENVIRONMENT,
    "env_vars": ENVIRONMENT,
    "os": ENVIRONMENT,
    "secrets": SECRETS,
    "credentials": SECRETS,
    "argv": CODE,
}
_VARIABLE = re.compile(r"(?:env|environment)\.[A-Z][A-Z0-9_]*")

# Each is linear in the text: no pattern begins with a repetition.
_VALUE_PATTERNS = [
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"git@|\.git\b|github\.|gitlab\.|bitbucket\.", GIT),
        (r"://[^/\s@]*@", SECRETS),
        (r"[^\s@]@[^\s@.]+\.[^\s@]", EMAIL),
        (r"(?i)(?:/home|/users|/root|\\users)(?:[/\\]|$)", PATHS),
        (r"^\s*(?:~[/\\]|/[\w.~-]|\\\\|file:)", PATHS),
        (r"""[\s=:,;'"(\[]/[\w.~-]+/""", PATHS),
        (r"(?:^|[^A-Za-z])[A-Za-z]:\\", PATHS),
        (r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])", HOST),
        (r"[\w-]\.(?:local|internal|lan|cluster|corp|intra|intranet)\b", HOST),
        (r"\b(?:sk|hf|ghp|gho|glpat|xox[abp]|wandb_v\d|AKIA|AIza|eyJ)[-_]?[A-Za-z0-9_-]{12}", SECRETS),
        (r"(?<![0-9A-Za-z])[0-9a-fA-F]{32}", SECRETS),
        (r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed|srun|sbatch|bash|mpirun)\s+[\w./-]|(?:^|\s)--[a-z]", CODE),
        (r"\bwandb\.ai/", ENTITY),
    )
]
# Names that tell nobody apart, and words too short to be told from others.
_EVERYONE = {"root", "user", "admin", "ubuntu", "localhost", "jovyan", "docker", "runner"}
_SHORTEST_WORD = 4
_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^0-9A-Za-z]+")


def private_text(text: str) -> str | None:
    """The kind of personal or machine data that a text holds; None if it seems to hold none."""
    return next((kind for pattern, kind in _VALUE_PATTERNS if pattern.search(text)), None)


def private_key(key: str, is_text: bool) -> str | None:
    """The kind of personal or machine data that a key (its parts joined by `.`) announces; None if none."""
    *parents, last = key.split(".")
    for part in (*parents, last):
        if part.lower() in _PARENTS and (parents or part.startswith("_") or is_text):
            return _PARENTS[part.lower()]
    if _VARIABLE.search(key):
        return ENVIRONMENT
    if not is_text:
        return None
    words = "_".join(word.lower() for word in _WORD_ENDS.split(last) if word)
    name = _HARMLESS_TOKEN.sub("_", f"_{words}_")
    return next((kind for pattern, kind in _NAME_PATTERNS if pattern.search(name)), None)


def without_words(fields: Mapping[str, Scalar], words: Mapping[str, str]) -> tuple[dict[str, Scalar], set[str]]:
    """The fields in whose key and text none of the words stands, and the kinds of the words that did."""
    patterns = [
        (re.compile(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])", re.IGNORECASE), kind)
        for word, kind in words.items()
        if len(word) >= _SHORTEST_WORD and word.lower() not in _EVERYONE
    ]
    kept: dict[str, Scalar] = {}
    kinds: set[str] = set()
    for key, value in fields.items():
        kind = next((kind for pattern, kind in patterns if pattern.search(f"{key}\n{value}")), None)
        if kind is None:
            kept[key] = value
        else:
            kinds.add(kind)
    return kept, kinds


def clean_text(text: str) -> str:
    """The text without lone surrogates, which no UTF-8 can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
