"""What a cluster needs before the processes start: CRDs, accounts and roles, the fence. Pure: objects as dicts."""

from gangpool.manifests.crds import crds
from gangpool.manifests.fence import fence
from gangpool.manifests.rbac import rbac
from gangpool.manifests.reader import reader

__all__ = ["crds", "fence", "rbac", "reader"]
