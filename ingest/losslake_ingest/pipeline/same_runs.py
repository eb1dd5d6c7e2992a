"""Logs of one run by their curves: within a study, equal values at equal steps of the same metrics are one run.

If the times are known and equal, too, nothing else that the logs state counts. Otherwise the metaparameters have to be
equal, and the mapping can say that such runs are repeats, with one seed, which are kept. The trials of a bundle are
only compared by their times: whoever made it had the logs, and their mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from losslake_ingest.contracts.study import Curves, RunDigests, run_digests
from losslake_ingest.mapping.place import PlacedRun
from losslake_ingest.pipeline.copies import BUNDLE, Candidate, facts_beside, facts_of, round_of
from losslake_ingest.pipeline.study_trials import StudyTrials
from losslake_schema.names import Trial


class SameRuns:
    """The trials of a study by their curves: those of this ingest and the stored ones."""

    def __init__(
        self,
        trials: StudyTrials,
        load: Callable[[Collection[int]], Curves],
        row_of: Callable[[int], Mapping[str, Any]],
        is_gone: Callable[[int], bool],
    ) -> None:
        """Begin an ingest. load: returns the curves of stored trials, row_of the row of one.

        is_gone: returns True for a stored trial that this ingest offers or moves.
        """
        self._trials, self._load, self._row_of, self._is_gone = trials, load, row_of, is_gone
        self._offered_timed: dict[bytes, Candidate] = {}
        self._offered: dict[bytes, dict[bytes, Candidate]] = {}
        self._sizes: set[tuple[int, int]] = set()
        self._digested: set[int] = set()
        self._stored_timed: dict[bytes, list[int]] = {}
        self._stored: dict[bytes, list[int]] = {}
        self._stored_facts: dict[tuple[bytes, frozenset[str], frozenset[str]], dict[bytes, list[int]]] = {}

    def expect(self, runs: Iterable[PlacedRun]) -> None:
        """Name the runs that are next, so that the stored curves of their sizes are loaded at once."""
        self._sizes = {(len(run.curve.steps), int(run.curve.steps[-1])) for run in runs if len(run.curve.steps)}

    def digests(self, run: PlacedRun, source: str) -> RunDigests:
        """Return the digests by which a run of a source is compared."""
        digests = run_digests(run.curve)
        return digests._replace(curve=None) if run.keeps_repeats or source == BUNDLE else digests

    def offer(self, trial: Trial, run: PlacedRun, digests: RunDigests) -> bool:
        """Record the run that is the log of a trial; return True if others have its curve, but different facts."""
        offered_trial = Candidate(trial, run.run, b"", round_of(run.attributes), equal="times")
        if digests.timed is not None:
            self._offered_timed[digests.timed] = offered_trial
        if digests.curve is None:
            return False
        offered = self._offered.setdefault(digests.curve, {})
        offered[facts_of(_without_formulas(run))] = offered_trial._replace(equal="curve")
        return len(offered) > 1 or bool(self._others(trial.trial_id, run, digests.curve, self._stored))

    def find(self, run: PlacedRun, number: int, digests: RunDigests) -> Candidate | None:
        """Return the trial of which a run is another log; None if there is none. number: it would have.

        A stored trial whose log is unchanged was compared with the others before.
        """
        offered = self._offered_timed.get(digests.timed) if digests.timed is not None else None
        if offered is not None or digests == RunDigests():
            return offered
        facts = facts_of(_without_formulas(run)) if digests.curve is not None else b""
        if digests.curve in self._offered and facts in self._offered[digests.curve]:
            return self._offered[digests.curve][facts]
        timed = self._others(number, run, digests.timed, self._stored_timed)
        numbers = timed or self._with_facts(number, run, digests.curve, facts)
        if not numbers:
            return None
        first, attributes = Trial(run.study, numbers[0]), dict(self._row_of(numbers[0])["attributes"] or ())
        path = self._trials.path_of(first.trial_id)
        return Candidate(first, path, b"", round_of(attributes), equal="times" if timed else "curve")

    def _others(
        self, number: int, run: PlacedRun, digest: bytes | None, stored: Mapping[bytes, list[int]]
    ) -> list[int]:
        """Return the stored trials with the digest of a run, but its own; none for a run that is stored."""
        if digest is None or not self._trials.logs or self._trials.has_bytes(number, run.sha256):
            return []
        self._digest_stored()
        return [other for other in stored.get(digest, ()) if other != number and not self._is_gone(other)]

    def _with_facts(self, number: int, run: PlacedRun, digest: bytes | None, facts: bytes) -> list[int]:
        """Return the stored trials with the curve and the facts of a run, but its own."""
        if digest is None or not self._others(number, run, digest, self._stored):
            return []
        run = _without_formulas(run)
        by_facts = self._stored_facts.setdefault((digest, frozenset(run.attributes), run.labels), {})
        if not by_facts:
            for other in self._stored[digest]:
                row = self._row_of(other)
                parameters, attributes = (dict(row[name] or ()) for name in ("parameters", "attributes"))
                by_facts.setdefault(facts_beside(run, parameters, attributes), []).append(other)
        return self._others(number, run, facts, by_facts)

    def _digest_stored(self) -> None:
        """Compute the digests of the stored trials that have as many evaluations as one of the next runs."""
        logs = self._trials.logs.values()
        alike = {log.trial_id for log in logs if (log.n_evaluations, log.last_step) in self._sizes}
        new = sorted(alike - self._digested)
        self._sizes.clear()
        if not new:
            return
        curves = self._load(new)
        for index, number in enumerate(new):
            digests = run_digests(curves.trial(index))
            if digests.timed is not None:
                self._stored_timed.setdefault(digests.timed, []).append(number)
            if digests.curve is not None:
                self._stored.setdefault(digests.curve, []).append(number)
                self._stored_facts.clear()
        self._digested.update(new)


def _without_formulas(run: PlacedRun) -> PlacedRun:
    """Return a run whose formulas of metrics, such as 1 - accuracy, are no metaparameters."""
    return replace(run, labels=run.labels.union(run.curve.values))
