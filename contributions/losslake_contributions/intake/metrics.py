"""Metrics of the contribution service, beside those that every server of LossLake has."""

from __future__ import annotations

from collections.abc import Mapping

from losslake_service.operation.metrics import ServerMetrics


class ContributionMetrics(ServerMetrics):
    """The metrics of a process."""

    def __init__(self) -> None:
        super().__init__()
        self._submissions = self.gauge(
            "losslake_contributions_submissions", "Submissions by state.", "livemostrecent", "state"
        )
        self._oldest = self.gauge(
            "losslake_contributions_oldest_submission_seconds",
            "Seconds that the oldest submission waits for review; 0 for none.",
            "livemostrecent",
        )
        self.received = self.counter("losslake_contributions_segments", "Segments received by outcome.", "outcome")
        self._notifications = self.counter(
            "losslake_contributions_notifications", "Notifications by outcome of each try.", "outcome"
        )
        self.bytes = self.counter("losslake_contributions_bytes", "Bytes of JSON lines that were stored.")

    def count_notification(self, outcome: str) -> None:
        """Count a try to deliver a notification."""
        self._notifications.labels(outcome).inc()

    def set_queue(self, counts: Mapping[str, int], seconds: float) -> None:
        """Show the number of submissions by state, and the seconds that the oldest one waits."""
        for state, count in counts.items():
            self._submissions.labels(state).set(count)
        self._oldest.set(seconds)
