"""The errors a user can meet, each one line: what is wrong, where, and what to do."""


class LossLakeError(Exception):
    """An error whose text is meant for the user, without a traceback."""


class LakeNotFound(LossLakeError):
    """There is no lake at the given location."""


class LakeBroken(LossLakeError):
    """The lake is there but something in it is missing, moved or altered."""


class StoreFailed(OSError, LossLakeError):
    """A bucket gives no answer, or an error, to the last try."""


class UnknownRelease(LossLakeError):
    """The lake has no release of the given number, or none at all."""


class BadName(LossLakeError):
    """A workload, study or trial path, or one of its parts, is not well formed."""
