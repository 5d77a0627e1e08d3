"""What each process of a control plane is told: flags, and the policy of the audit log.

Called by `plane`. Pure: paths and ports in, command lines out. Two parts differ from a usual cluster, for no kubelet is
here: nodes get no taint when they are created, and nobody judges their leases or collects their pods; tests write
taints and conditions themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.cluster.pki import Certificate

# Off by default in 1.37 although beta; with them scheduling.k8s.io/v1beta1 PodGroup and Workload are served.
GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
SERVICE_RANGE = "10.96.0.0/16"
AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    # ResponseStarted stays: it is when a watch begins. Other requests have ResponseComplete only.
    "omitStages": ["RequestReceived"],
    "omitManagedFields": True,
    "rules": [
        {"level": "None", "users": ["system:apiserver"]},
        {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/openapi/*", "/version"]},
        {"level": "Request", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "Metadata"},
    ],
}


class Ports(NamedTuple):
    """Ports of 127.0.0.1 that the processes of one control plane listen on."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controllers: int
    scheduler: int


@dataclass(frozen=True)
class Settings:
    """What a test wants its control plane to be. The default is the smallest that serves the API."""

    controllers: bool = False  # kube-controller-manager: Jobs, garbage collection, namespaces, service accounts
    scheduler: bool = False  # kube-scheduler with native gangs, to compare with
    audit: bool = True  # every write with its body, every read and watch without; costs some speed
    apiserver_flags: tuple[str, ...] = ()  # added last, so they win
    controller_flags: tuple[str, ...] = ()
    scheduler_flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Site:
    """Where one control plane lives: its folder, its binaries, its ports, its certificates."""

    folder: Path
    binaries: Path
    ports: Ports
    authority: Certificate
    server: Certificate
    accounts: Certificate

    @property
    def url(self) -> str:
        """Address of the API server."""
        return f"https://127.0.0.1:{self.ports.apiserver}"

    @property
    def audit_log(self) -> Path:
        """File that the API server appends a line to before it answers."""
        return self.folder / "audit.log"


def audit_policy(folder: Path) -> Path:
    """Where the policy of the audit log lies."""
    return folder / "audit-policy.json"


def etcd(site: Site) -> list[str]:
    """Command of etcd; nothing is synced to disk: a machine that goes down loses it, a killed process doesn't."""
    client, peer = (f"http://127.0.0.1:{port}" for port in (site.ports.etcd, site.ports.etcd_peer))
    return [
        str(site.binaries / "etcd"),
        f"--data-dir={site.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--quota-backend-bytes=8589934592",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(site: Site, settings: Settings) -> list[str]:
    """Command of kube-apiserver."""
    command = [
        str(site.binaries / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{site.ports.etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={site.ports.apiserver}",
        *_served_with(site),
        f"--client-ca-file={site.authority.certificate}",
        "--authorization-mode=Node,RBAC",
        # Nobody stands before this server, but the controller-manager complains where nobody could.
        f"--requestheader-client-ca-file={site.authority.certificate}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={site.accounts.certificate}",
        f"--service-account-signing-key-file={site.accounts.key}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--endpoint-reconciler-type=none",
        "--disable-admission-plugins=TaintNodesByCondition",
        "--allow-privileged=true",
        "--runtime-config=api/all=true",
        f"--feature-gates={GATES}",
    ]
    if settings.audit:
        command += [
            f"--audit-policy-file={audit_policy(site.folder)}",
            f"--audit-log-path={site.audit_log}",
            "--audit-log-maxsize=100000",  # MB; 0 would mean a new file after 100 MB
        ]
    return [*command, *settings.apiserver_flags]


def controllers(site: Site, kubeconfig: Path, settings: Settings) -> list[str]:
    """Command of kube-controller-manager."""
    return [
        str(site.binaries / "kube-controller-manager"),
        *_client(kubeconfig),
        *_served_with(site),
        f"--secure-port={site.ports.controllers}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={site.accounts.key}",
        f"--root-ca-file={site.authority.certificate}",
        f"--cluster-signing-cert-file={site.authority.certificate}",
        f"--cluster-signing-key-file={site.authority.key}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--controllers=*,-node-lifecycle-controller,-pod-garbage-collector-controller",
        f"--feature-gates={GATES}",
        *settings.controller_flags,
    ]


def scheduler(site: Site, kubeconfig: Path, settings: Settings) -> list[str]:
    """Command of kube-scheduler, with the gates of native gangs and without the usual brake on its requests."""
    return [
        str(site.binaries / "kube-scheduler"),
        *_client(kubeconfig),
        *_served_with(site),
        f"--secure-port={site.ports.scheduler}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--kube-api-qps=5000",
        "--kube-api-burst=10000",
        f"--feature-gates={GATES}",
        *settings.scheduler_flags,
    ]


def _client(kubeconfig: Path) -> list[str]:
    return [f"--{use}kubeconfig={kubeconfig}" for use in ("", "authentication-", "authorization-")]


def _served_with(site: Site) -> list[str]:
    return [f"--tls-cert-file={site.server.certificate}", f"--tls-private-key-file={site.server.key}"]
