"""The errors that users see, one line each: what is wrong, where, and what to do."""


class LossLakeError(Exception):
    """An error whose text is meant for the user, without a traceback."""


class LakeNotFound(LossLakeError):
    """No lake at the given location."""


class LakeBroken(LossLakeError):
    """A lake in which something is missing, moved or altered."""


class StoreFailed(OSError, LossLakeError):
    """A bucket that does not respond, or responds with an error, after all retries."""


class UnknownRelease(LossLakeError):
    """A release number that the lake does not have, or a lake without releases."""


class BadName(LossLakeError):
    """A malformed path of a workload, study or trial, or a malformed part of one."""
