"""What travels between a notebook and its jobs: variables in, changed variables out. Knows nothing of queues."""

from jupysched.namespace.capture import Reads, reads
from jupysched.namespace.errors import NamespaceError, NoSuchName, NotPicklable, ObjectMissing, ObjectStoreFull
from jupysched.namespace.objects import ObjectStore, collect_garbage

__all__ = [
    "NamespaceError",
    "NoSuchName",
    "NotPicklable",
    "ObjectMissing",
    "ObjectStore",
    "ObjectStoreFull",
    "Reads",
    "collect_garbage",
    "reads",
]
