"""Filter for personal and machine data in logs, by a key's name or a value; only its kind is noted.

A false positive costs one field of a run; a false negative would publish private data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from losslake_ingest.contracts.run_log import Scalar

LONGEST_TEXT = 2000

EMAIL, USER, HOST, ENTITY = "e-mail", "user name", "host name", "entity"
CODE, GIT, ENVIRONMENT, PATHS, SECRETS = "code and command line", "git", "environment", "path", "secret"
CONSOLE, INTERNAL, NOTES = "console output", "W&B internals", "notes"

# Words of the last part of a key, as `_word_word_`. Only texts are dropped: numbers don't identify anyone.
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

# Parts of a key under which everything is dropped, even numbers.
_PARENTS = {
    **dict.fromkeys(("_wandb", "wandb_version"), INTERNAL),
    **dict.fromkeys(("host", "hosts"), HOST),
    **dict.fromkeys(("environ", "env_vars", "os"), ENVIRONMENT),
    **dict.fromkeys(("secrets", "credentials"), SECRETS),
    "git": GIT,
    "user": USER,
    "argv": CODE,
}
_VARIABLE = re.compile(r"(?:env|environment)\.[A-Z][A-Z0-9_]*")

# Each takes linear time: no pattern begins with a repetition.
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
# Names that identify nobody, and words too short to be distinctive.
_EVERYONE = {"root", "user", "admin", "ubuntu", "localhost", "jovyan", "docker", "runner"}
_SHORTEST_WORD = 4
_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^0-9A-Za-z]+")


def private_text(text: str) -> str | None:
    """Return the kind of personal or machine data in a text; None if there seems to be none."""
    return next((kind for pattern, kind in _VALUE_PATTERNS if pattern.search(text)), None)


def private_key(key: str, is_text: bool) -> str | None:
    """Return the kind of personal or machine data that a key (parts joined by `.`) announces; None if none."""
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


def is_distinctive(word: str) -> bool:
    """Return True for the name of a person or machine that no other word or machine is likely to have."""
    return len(word) >= _SHORTEST_WORD and word.lower() not in _EVERYONE


def without_words(fields: Mapping[str, Scalar], words: Mapping[str, str]) -> tuple[dict[str, Scalar], set[str]]:
    """Return the fields whose key and value contain none of the words, and the kinds of words that were found."""
    patterns = [
        (re.compile(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])", re.IGNORECASE), kind)
        for word, kind in words.items()
        if is_distinctive(word)
    ]
    remaining: dict[str, Scalar] = {}
    kinds: set[str] = set()
    for key, value in fields.items():
        kind = next((kind for pattern, kind in patterns if pattern.search(f"{key}\n{value}")), None)
        if kind is None:
            remaining[key] = value
        else:
            kinds.add(kind)
    return remaining, kinds
