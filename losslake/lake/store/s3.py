"""Lakes in buckets of S3, or of another store with its protocol. Credentials are read from the usual AWS variables."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from obstore.store import S3Store

from losslake.lake.store.blocks import BlockCache
from losslake.lake.store.bucket import Bucket, client_options, retry_options
from losslake.lake.store.bucket_store import BucketStore
from losslake.lake.store.store import MetadataFiles

if TYPE_CHECKING:
    from obstore.store import S3Config

SCHEME = "s3://"
_URL = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^?#]*)?")
_CREDENTIALS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


def normalize_url(url: str) -> str:
    """Return the URL of a warehouse; raise ValueError if it isn't s3://bucket/prefix."""
    if not _URL.fullmatch(url) or "//" in url.removeprefix(SCHEME) or "/../" in f"{url}/":
        raise ValueError(f"{url} is not a valid bucket and prefix: write s3://bucket/prefix")
    return url


def open_store(url: str, endpoint: str | None, cache: BlockCache) -> BucketStore:
    """Return the store at s3://bucket/prefix. endpoint: of a store other than Amazon's."""
    return BucketStore(bucket_at(url, endpoint), cache, lambda other: bucket_at(url, other), "s3a")


def metadata_files(url: str, endpoint: str | None) -> tuple[MetadataFiles, str]:
    """Return the bucket of an object, and the object's key."""
    name, _, key = url.removeprefix(SCHEME).partition("/")
    return _whole_bucket(f"{SCHEME}{name}", endpoint or _default_endpoint()), key


def bucket_at(url: str, endpoint: str | None) -> Bucket:
    """Return a client for s3://bucket/prefix. endpoint: default: from the AWS variables, or Amazon's."""
    endpoint = endpoint or _default_endpoint()
    name, _, prefix = url.rstrip("/").removeprefix(SCHEME).partition("/")
    config: S3Config = {"region": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"}
    if endpoint:
        config["endpoint"] = endpoint
    remote = S3Store(
        name,
        prefix=prefix or None,
        config=config,
        client_options=client_options(endpoint),
        retry_config=retry_options(),
    )
    return Bucket(url, remote, _CREDENTIALS)


_whole_bucket = lru_cache(16)(bucket_at)


def _default_endpoint() -> str | None:
    """Return the endpoint in the AWS variables, or None for Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None
