"""The table of what asking took, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version

from bench.measure import machine
from bench.peers.peer import Peer
from bench.peers.questions import Kind
from bench.peers.turns import PeerTimes
from losslake_schema.release import Release


def report(command: str, release: Release, losslake: Peer, peers: Sequence[Peer], measured: Sequence[PeerTimes]) -> str:
    """Median ratios; LossLake's own medians in milliseconds; what was prepared; and where LossLake is not ahead."""
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
            f"`{command}`; {machine()}, pandas {version('pandas')}",
            "",
            f"{release.n_trials:,} trials, {release.n_measurements:,} values; ratios to LossLake's time (rounds):",
            "",
            *(f"| {' | '.join(row)} |" for row in rows),
            "",
            *(f"* {peer.name} ({peer.version}): {peer.note}" for peer in (losslake, *peers)),
            "",
            *_verdicts(peers, times),
        ]
    )


def _cell(one: PeerTimes) -> str:
    ratio = one.ratio
    return f"{ratio:,.0f} x ({len(one.seconds)})" if ratio >= 10 else f"{ratio:.2f} x ({len(one.seconds)})"


def _verdicts(peers: Sequence[Peer], times: Mapping[tuple[str, Kind], PeerTimes]) -> Iterator[str]:
    """Whether LossLake is ahead of every peer, and of the pandas way by as much as it has to be."""
    behind = [
        f"{peer.name} on {kind.title}: {times[peer.name, kind].ratio:.2f} x"
        for peer in peers
        if peer.is_rival
        for kind in Kind
        if times[peer.name, kind].ratio <= 1
    ]
    yield f"Not ahead of {'; '.join(behind)}." if behind else "Ahead of every peer on every question."
    for peer in peers:
        if peer.name.startswith("pandas"):
            one, every = (times[peer.name, kind].ratio for kind in (Kind.SCALING, Kind.ALL))
            yield f"Ahead of {peer.name} for scaling: {one:,.0f} times, and {every:,.0f} times for all workloads."
