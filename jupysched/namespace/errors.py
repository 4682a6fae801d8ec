"""What can go wrong while variables travel, as sentences for the reader. Knows nothing of pickles."""

from __future__ import annotations


class NamespaceError(Exception):
    """Variables could not travel."""

    sentence: str
    hint: str

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        self.sentence = sentence
        self.hint = hint
        super().__init__(f"{sentence} {hint}".strip())

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.sentence, self.hint), self.__dict__)


def _rebuild(kind: type[NamespaceError], sentence: str, hint: str) -> NamespaceError:
    error = kind.__new__(kind)
    NamespaceError.__init__(error, sentence, hint=hint)
    return error


class NotPicklable(NamespaceError):
    """A value that the cell needs can't travel to the job."""

    #: where the value hangs, as Python would write it: store.meta['guard']
    path: str
    #: the type of the value that can't travel
    type_name: str

    def __init__(self, path: str, type_name: str, why: str, *, hint: str) -> None:
        super().__init__(f"{path} can't travel to the job: {why}.", hint=hint)
        self.path = path
        self.type_name = type_name


class NoSuchName(NamespaceError):
    """A name given with --in is not a variable of the notebook."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not a variable of this notebook.", hint="Check the names given with --in.")
        self.name = name


class NotRebuilt(NamespaceError):
    """A variable arrived, but could not be rebuilt in the job."""

    def __init__(self, name: str, error: BaseException) -> None:
        super().__init__(
            f"{name} could not be rebuilt in the job: {type(error).__name__}: {error}.",
            hint="Create it inside the cell.",
        )
        self.name = name


class ObjectStoreFull(NamespaceError):
    """The disk is full: the variables do not fit into the object store."""

    def __init__(self, folder: str, wanted_bytes: int, free_bytes: int) -> None:
        super().__init__(
            f"The disk is full: {wanted_bytes / 1e6:,.0f} MB are needed in {folder}, {free_bytes / 1e6:,.0f} MB are free.",
            hint="Free some space, or set JUPYSCHED_HOME to a larger disk.",
        )
        self.wanted_bytes = wanted_bytes
        self.free_bytes = free_bytes


class ObjectMissing(NamespaceError):
    """A buffer is no longer in the object store."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Buffer {name} is no longer in the object store.", hint="Submit the cell again.")
        self.name = name


class WrongVersion(NamespaceError):
    """The file was written by another version."""

    def __init__(self, found: object) -> None:
        super().__init__(
            f"The variables were packed by another version ({found}).", hint="Restart the kernel and submit again."
        )
