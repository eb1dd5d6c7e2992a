"""The texts of notifications: for programs, in a chat, and in an e-mail.

It is composed when it is delivered, from what is stored then: a run that goes on isn't reported as silent, and nothing
that was erased is sent. Texts of reviewers and contributors are data: no chat takes them for links or calls.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from losslake_contributions.people.links import CONTRIBUTIONS, REVIEWS, SUBMISSIONS, live_path
from losslake_contributions.store.tables import Channel, Contribution, Delivery, Submission, SubmissionRun
from losslake_schema.quantities import counted
from losslake_schema.tables import STUDY_KEYS

_LONGEST_IN_CHAT = 1_000  # of a quote; Discord takes 2,000 characters in all
_MOST_COLLECTIONS = 10
_RUNS_AT_ONCE = 20  # in memory: each has up to 256 kB of facts


@dataclass(frozen=True)
class Message:
    """A notification. title, lines: without texts of others. quote: such a text, or none. facts: for programs."""

    title: str
    lines: Sequence[str]
    quote: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)


def message_of(session: Session, delivery: Delivery, channel: Channel, key: bytes) -> Message | None:
    """Return what a notification says; None if it isn't true any more. key: signs links."""
    if delivery.event in _OF_RUNS:
        return _message_of_run(session, delivery, channel, key)
    return _MESSAGES[delivery.event](session, delivery, channel.base)


def _hello(_: Session, __: Delivery, base: str) -> Message:
    return Message("what becomes of your runs is told here", [f"The service is {base}."])


def _confirm(_: Session, __: Delivery, base: str) -> Message:
    # It may go to anybody, so it has no text that whoever asked for it has chosen.
    return Message(
        "Confirm that LossLake may write to you",
        [
            f"Somebody with a token of {base} asked to be told at this address what becomes of training runs.",
            "Open the link below to confirm.",
            "If it wasn't you, do nothing: no other e-mail follows, and the address is deleted after two days.",
        ],
    )


def _returned(session: Session, delivery: Delivery, base: str) -> Message | None:
    row = session.get(Submission, delivery.subject)
    if row is None or row.state != "returned":
        return None
    facts, n_runs = _submission_facts(session, row, base)
    lines = [
        f"A reviewer returned the submission {row.id} of {n_runs}: {base}{REVIEWS}/{row.id}",
        "To submit the runs again, push them with --again, and say in --note what has changed.",
    ]
    return Message(f"Returned: {n_runs}", lines, row.reason or "", {**facts, "reason": row.reason})


def _accepted(session: Session, delivery: Delivery, base: str) -> Message | None:
    row = session.get(Submission, delivery.subject)
    if row is None or row.state != "accepted":
        return None
    facts, n_runs = _submission_facts(session, row, base)
    collections = _collections(session, row.id)
    cited = [f"{collection}@{row.release}" for collection in collections]
    command = f"losslake cite {shlex.join(collections)} --release {row.release} --url URL"
    lines = [
        f"The submission {row.id} of {n_runs} is in release {row.release}: {base}{REVIEWS}/{row.id}",
        f"To cite the runs: {command}, with the URL of the service that answers questions about the lake",
    ]
    about = {**facts, "release": row.release, "citations": cited}
    return Message(f"Accepted: {n_runs}, release {row.release}", lines, "\n".join(cited), about)


def _message_of_run(session: Session, delivery: Delivery, channel: Channel, key: bytes) -> Message | None:
    row = session.get(Contribution, delivery.subject)
    if row is None or row.is_erased:
        return None
    message = _OF_RUNS[delivery.event](row, delivery)
    if message is None:
        return None
    links = {"run": f"{channel.base}{CONTRIBUTIONS}/{row.id}"}
    page = live_path(session, key, channel.contributor, row.id)
    if page is not None:
        links["live"] = f"{channel.base}{page}"
    facts = {"run": row.id, "study": study_of(row.facts), "links": links, **message.facts}
    shown = [f"Its page: {links['live']}"] if page is not None else []
    quote = "\n".join(filter(None, [str(facts["study"]), message.quote]))
    return Message(message.title, [*message.lines, *shown], quote, facts)


def _silent(row: Contribution, delivery: Delivery) -> Message | None:
    if not row.is_silent or row.seen_at is None or row.seen_at.isoformat() != delivery.occasion:
        return None
    lines = [
        f"There was no sign of life of the run {row.id} after {row.seen_at:%Y-%m-%d %H:%M:%S} UTC.",
        "The service finished it as INCOMPLETE with what it has. If it is heard of again, the run goes on.",
    ]
    return Message("Silent: a live run", lines, facts={"seen_at": row.seen_at})


def _diverged(row: Contribution, delivery: Delivery) -> Message | None:
    lines = [f"The live run {row.id} seems to have diverged."]
    return Message("Diverged: a live run", lines, delivery.detail, {"why": delivery.detail})


_MESSAGES: Mapping[str, Callable[[Session, Delivery, str], Message | None]] = {
    "hello": _hello, "confirm": _confirm, "returned": _returned, "accepted": _accepted,
}  # fmt: skip
_OF_RUNS: Mapping[str, Callable[[Contribution, Delivery], Message | None]] = {"silent": _silent, "diverged": _diverged}


def _submission_facts(session: Session, row: Submission, base: str) -> tuple[dict[str, object], str]:
    """Return the facts of a submission, and the number of its runs in words."""
    n_runs = len(session.scalars(select(SubmissionRun.contribution).where(SubmissionRun.submission == row.id)).all())
    links = {"submission": f"{base}{SUBMISSIONS}/{row.id}", "review": f"{base}{REVIEWS}/{row.id}"}
    return {"submission": row.id, "n_runs": n_runs, "links": links}, counted(n_runs, "run")


def study_of(facts: str) -> str:
    """Return the name of a run's study. facts: its run.json."""
    stated = orjson.loads(facts)
    return "/".join(str(stated[key]) for key in STUDY_KEYS)


def _collections(session: Session, submission: str) -> list[str]:
    """Return the collections of a submission's runs."""
    is_of = SubmissionRun.contribution == Contribution.id
    facts = select(Contribution.facts).join(SubmissionRun, is_of).where(SubmissionRun.submission == submission)
    rows = session.scalars(facts, execution_options={"yield_per": _RUNS_AT_ONCE})
    return sorted({str(orjson.loads(each)["collection"]) for each in rows})[:_MOST_COLLECTIONS]


def webhook_body(message: Message, delivery: Delivery) -> bytes:
    """Return the JSON for a webhook: facts for programs, and a text for chats.

    `text` is shown by Slack and Mattermost, `content` by Discord. In a block of code, none of them takes a text of
    others for a link or for a call of everybody; Slack has to be told by escapes.
    """
    quote = _cut(message.quote).replace("`", "'")
    block = f"\n```\n{quote}\n```" if quote else ""
    plain = "\n".join([f"LossLake: {message.title}", *message.lines])
    escaped = block.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    facts = {"id": delivery.id, "event": delivery.event, "created_at": delivery.created_at, **message.facts}
    body: dict[str, Any] = {
        "text": plain + escaped, "content": plain + block, "allowed_mentions": {"parse": []}, "losslake": facts,
    }  # fmt: skip
    return orjson.dumps(body, option=orjson.OPT_UTC_Z)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_IN_CHAT else f"{text[:_LONGEST_IN_CHAT]} …"


def email_text(message: Message, link: str, is_confirmed: bool) -> str:
    """Return the text of an e-mail. link: to the page that confirms the address, and later deletes it."""
    quote = [f"> {line}" for line in message.quote.split("\n")] if message.quote else []
    what = "Stop these e-mails" if is_confirmed else "Confirm"
    return "\n\n".join([*message.lines, *(["\n".join(quote)] if quote else []), f"{what}: {link}"]) + "\n"
