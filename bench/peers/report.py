"""The table of what asking took, in Markdown."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from bench.measure import machine
from bench.peers.peer import Peer
from bench.peers.questions import Kind
from bench.peers.turns import PeerTimes
from losslake_schema.release import Release


def report(release: Release, losslake: Peer, peers: Sequence[Peer], measured: Sequence[PeerTimes]) -> str:
    """Return LossLake's medians in milliseconds, median ratios, and the questions where LossLake is not ahead."""
    times = {(one.peer, one.kind): one for one in measured}
    titles = [kind.title for kind in Kind]
    rows = [
        ("", *titles),
        ("---", *("---:" for _ in titles)),
        (f"{losslake.name}, median ms", *(f"{times[losslake.name, kind].median_s * 1000:,.2f}" for kind in Kind)),
        *((peer.name, *(_cell(times[peer.name, kind]) for kind in Kind)) for peer in peers),
    ]
    return "\n".join(
        [
            f"{machine()}, pandas {version('pandas')}, SQLite {sqlite3.sqlite_version}",
            "",
            f"{release.n_trials:,} trials, {release.n_measurements:,} values; ratios to LossLake's time (rounds):",
            "",
            *(f"| {' | '.join(row)} |" for row in rows),
            "",
            _verdict(peers, times),
        ]
    )


def _cell(one: PeerTimes) -> str:
    ratio = one.ratio
    return f"{ratio:,.0f} x ({len(one.seconds)})" if ratio >= 10 else f"{ratio:.2f} x ({len(one.seconds)})"


def _verdict(peers: Sequence[Peer], times: Mapping[tuple[str, Kind], PeerTimes]) -> str:
    behind = [
        f"{peer.name} on {kind.title}: {times[peer.name, kind].ratio:.2f} x"
        for peer in peers
        if peer.is_rival
        for kind in Kind
        if times[peer.name, kind].ratio <= 1
    ]
    return f"Not ahead of {'; '.join(behind)}." if behind else "Ahead of every peer on every question."
