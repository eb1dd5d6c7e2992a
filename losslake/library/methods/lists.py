"""The lists of what a release holds.

Written by `python -m losslake.library.generate` from the declarations of the questions: change those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from losslake.library.result import QuestionMethods, Result


class Lists(QuestionMethods):
    """The lists of what a release holds."""

    def collections(
        self,
        *,
        sort: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/collections.

        The collections of a release, with licence and citation.

        Args:
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            fields: The columns to return, separated by commas; default: all.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            filters: by column, as REST takes them: collection, title, licence, citation, source_url
        """
        parameters: dict[str, Any] = {"sort": sort, "fields": fields, "limit": limit, **filters}
        answer: Result = self._answer("/v1/collections", parameters)
        return answer

    def workloads(
        self,
        *,
        sort: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        q: str | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/workloads.

        The workloads of a release, with batch sizes, metrics, goals.

        Args:
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            fields: The columns to return, separated by commas; default: all.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            q: Words that a workload must all have, in any spelling (resnet50 finds ResNet-50): in its names,
                display names, aliases and metrics, or in the rounds, organisations and systems of its trials.
            filters: by column, as REST takes them: collection, dataset, model, optimizer, batch_unit, batch_sizes,
                metrics, goals, n_studies, n_trials, n_complete, n_missed, n_incomplete, n_infeasible, n_evaluations
        """
        parameters: dict[str, Any] = {
            "sort": sort,
            "fields": fields,
            "limit": limit,
            "workload": workload,
            "q": q,
            **filters,
        }
        answer: Result = self._answer("/v1/workloads", parameters)
        return answer

    def studies(
        self,
        *,
        sort: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/studies.

        The studies of a release, with their search spaces.

        Args:
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            fields: The columns to return, separated by commas; default: all.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            filters: by column, as REST takes them: study, collection, dataset, model, optimizer, batch_size,
                batch_unit, train_steps, early_stopping, parameter_configs, metrics, n_trials, n_complete, n_missed,
                n_incomplete, n_infeasible, n_quarantined, n_evaluations, n_measurements, n_nonfinite, format,
                source, source_digest, content_digest
        """
        parameters: dict[str, Any] = {"sort": sort, "fields": fields, "limit": limit, "workload": workload, **filters}
        answer: Result = self._answer("/v1/studies", parameters)
        return answer

    def trials(
        self,
        *,
        sort: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        study: str | Sequence[str] | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/trials.

        The trials of a release, with their metaparameters.

        Args:
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            fields: The columns to return, separated by commas; default: all.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            study: Only trials of this study: collection/dataset/model/optimizer/batch_size; may be repeated.
            filters: by column, as REST takes them: trial, collection, dataset, model, optimizer, batch_size,
                trial_id, status, steps, last_step, n_evaluations, n_nonfinite, parameters, attributes, source,
                source_sha256, content_digest, also_submitted
        """
        parameters: dict[str, Any] = {
            "sort": sort,
            "fields": fields,
            "limit": limit,
            "workload": workload,
            "study": study,
            **filters,
        }
        answer: Result = self._answer("/v1/trials", parameters)
        return answer

    def metrics(
        self,
        *,
        sort: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/metrics.

        The metrics that a release knows, with direction and unit.

        Args:
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            fields: The columns to return, separated by commas; default: all.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            filters: by column, as REST takes them: metric, split, quantity, direction, unit, description
        """
        parameters: dict[str, Any] = {"sort": sort, "fields": fields, "limit": limit, **filters}
        answer: Result = self._answer("/v1/metrics", parameters)
        return answer

    def goals(
        self,
        *,
        sort: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/goals.

        The goals of the workloads of a release, with their sources.

        Args:
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            fields: The columns to return, separated by commas; default: all.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            filters: by column, as REST takes them: collection, dataset, model, optimizer, metric, target,
                comparator, source
        """
        parameters: dict[str, Any] = {"sort": sort, "fields": fields, "limit": limit, "workload": workload, **filters}
        answer: Result = self._answer("/v1/goals", parameters)
        return answer

    def contributors(
        self,
        *,
        sort: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/contributors.

        Who contributed to the studies of a release, with ORCID iDs.

        Args:
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            fields: The columns to return, separated by commas; default: all.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            filters: by column, as REST takes them: study, collection, dataset, model, optimizer, batch_size, name,
                orcid, role, contribution, n_trials
        """
        parameters: dict[str, Any] = {"sort": sort, "fields": fields, "limit": limit, "workload": workload, **filters}
        answer: Result = self._answer("/v1/contributors", parameters)
        return answer

    def releases(
        self,
        *,
        sort: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/releases.

        Every release of the lake, newest first.

        Args:
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            fields: The columns to return, separated by commas; default: all.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            filters: by column, as REST takes them: release, created_at, notes, content_digest, n_studies, n_trials,
                n_evaluations, n_measurements
        """
        parameters: dict[str, Any] = {"sort": sort, "fields": fields, "limit": limit, **filters}
        answer: Result = self._answer("/v1/releases", parameters)
        return answer

    def withdrawn(
        self,
        *,
        sort: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/withdrawn.

        The trials that were withdrawn after they were published, or erased. Those that release N still has have a
        `release_without` above N.

        Args:
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            fields: The columns to return, separated by commas; default: all.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            filters: by column, as REST takes them: trial, kind, at, reason, release_without, by, digest
        """
        parameters: dict[str, Any] = {"sort": sort, "fields": fields, "limit": limit, **filters}
        answer: Result = self._answer("/v1/withdrawn", parameters)
        return answer
