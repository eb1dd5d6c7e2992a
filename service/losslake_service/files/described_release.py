"""What a release says of itself, to people and to machines, without its files of studies."""

from __future__ import annotations

from losslake.lake.croissant import croissant, json_ld
from losslake.lake.documents import collections_of
from losslake.lake.lake import Lake
from losslake_schema.database import Release


class DescribedRelease:
    """The collections of a release and its short description; at once there, however many studies it has."""

    def __init__(self, lake: Lake, release: Release) -> None:
        """Raises LakeBroken when the release's file list or its collections can't be read."""
        self.release = release
        self.files = lake.files(release, of_studies=False)
        self.collections = collections_of(lake, self.files)

    def json_ld(self, base_url: str) -> str:
        """A short Croissant description, without the files of partitions, to stand in a page's script element.

        base_url: of the service that gives the files.
        """
        return json_ld(croissant(self.release, self.files, self.collections, base_url, brief=True))
