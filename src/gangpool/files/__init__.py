"""Reading what people and kubectl write: manifests and dumps of a pool. An edge: it reads files and decides nothing.

Called by the CLI. Whatever the input, each function gives objects or one `InputError` in plain words.
"""

from gangpool.files.failure import InputError
from gangpool.files.manifests import read_objects
from gangpool.files.pool import KindKey, PoolDump, iter_pool, key_of, pool_of, read_pool
from gangpool.objects.located import Located

__all__ = [
    "InputError",
    "KindKey",
    "Located",
    "PoolDump",
    "iter_pool",
    "key_of",
    "pool_of",
    "read_objects",
    "read_pool",
]
