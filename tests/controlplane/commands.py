"""The command line of each component: what makes a control plane out of a handful of programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .binaries import Binaries
from .certificates import SERVICE_NETWORK, Certificates

ETCD, APISERVER, CONTROLLER_MANAGER = "etcd", "kube-apiserver", "kube-controller-manager"
SCHEDULER, KWOK, KARPENTER = "kube-scheduler", "kwok", "karpenter"
SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc.cluster.local"
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""
POD_DELETE_STAGE = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]
  delay: {durationMilliseconds: 300}
  next: {delete: true}
"""
"""In place of kwok's own, which removes a pod sooner than any kubelet: while the scheduler still preempts others, and
then a pod may wait for five minutes (kubernetes/kubernetes#141694)."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What can be chosen about a control plane."""

    karpenter: bool = False
    audit: bool = False  # every request in logs/audit.log, one JSON object a line
    resource_quota_sync_period: str | None = None  # the native 5m when None
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)  # more flags, by component


@dataclass(frozen=True)
class Place:
    """Where one control plane's files and ports are."""

    directory: Path
    certificates: Certificates
    ports: dict[str, int]

    @property
    def logs(self) -> Path:
        """The folder of the components' logs."""
        return self.directory / "logs"

    @property
    def data(self) -> Path:
        """etcd's data."""
        return self.directory / "etcd"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, when it is asked for."""
        return self.logs / "audit.log"

    def url(self, port: str, scheme: str = "http") -> str:
        """The URL of a component's port."""
        return f"{scheme}://127.0.0.1:{self.ports[port]}"

    def kubeconfig(self, client: str) -> Path:
        """The kubeconfig of one of the clients with a certificate."""
        name = "kubeconfig" if client == "admin" else f"kubeconfigs/{client}"
        return self.directory / name


def component_command(component: str, *, binaries: Binaries, place: Place, options: Options) -> list[str]:
    """The whole command line of a component."""
    flags: dict[str, Callable[[], list[str]]] = {
        ETCD: lambda: _etcd(place),
        APISERVER: lambda: _apiserver(place, options),
        CONTROLLER_MANAGER: lambda: _controller_manager(place, options),
        SCHEDULER: lambda: _client(place, SCHEDULER),
        KWOK: lambda: _kwok(place, binaries),
        KARPENTER: list,
    }
    return [*binaries.command(component), *flags[component](), *options.extra.get(component, ())]


def _etcd(place: Place) -> list[str]:
    clients, peers = place.url("etcd"), place.url("etcd-peer")
    return [
        "--name=moorage",
        f"--data-dir={place.data}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=moorage={peers}",
        "--unsafe-no-fsync",  # the data lives as long as its owner: nothing needs to survive a power cut
        "--log-level=warn",
    ]


def _apiserver(place: Place, options: Options) -> list[str]:
    certificates = place.certificates
    flags = [
        f"--etcd-servers={place.url('etcd')}",
        "--bind-address=127.0.0.1",
        f"--secure-port={place.ports[APISERVER]}",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",  # Endpoints may not be on loopback, and nothing here routes to them
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        f"--client-ca-file={certificates.authority}",
        f"--tls-cert-file={certificates.server.certificate}",
        f"--tls-private-key-file={certificates.server.key}",
        f"--proxy-client-cert-file={certificates.clients['front-proxy'].certificate}",
        f"--proxy-client-key-file={certificates.clients['front-proxy'].key}",
        f"--requestheader-client-ca-file={certificates.authority}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--service-account-issuer={SERVICE_ACCOUNT_ISSUER}",
        f"--service-account-key-file={certificates.service_account_public_key}",
        f"--service-account-signing-key-file={certificates.service_account_key}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged",
        "--shutdown-delay-duration=0s",
        "--shutdown-watch-termination-grace-period=1s",  # else a stop waits ten seconds for the watches to end
        "--profiling=false",
    ]
    if options.audit:
        policy = certificates.authority.with_name("audit-policy.yaml")
        policy.write_text(AUDIT_POLICY)
        flags += [f"--audit-policy-file={policy}", f"--audit-log-path={place.audit_log}"]
    return flags


def _controller_manager(place: Place, options: Options) -> list[str]:
    certificates = place.certificates
    flags = [
        *_client(place, CONTROLLER_MANAGER),
        "--use-service-account-credentials",
        f"--service-account-private-key-file={certificates.service_account_key}",
        f"--root-ca-file={certificates.authority}",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
    ]
    if options.resource_quota_sync_period is not None:
        flags.append(f"--resource-quota-sync-period={options.resource_quota_sync_period}")
    return flags


def _client(place: Place, component: str) -> list[str]:
    """What the controller manager and the scheduler have in common."""
    certificates, kubeconfig = place.certificates, place.kubeconfig(component)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={place.ports[component]}",
        f"--tls-cert-file={certificates.server.certificate}",
        f"--tls-private-key-file={certificates.server.key}",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def _kwok(place: Place, binaries: Binaries) -> list[str]:
    delete = place.directory / "pod-delete.yaml"
    delete.write_text(POD_DELETE_STAGE)
    stages = [*(stage for stage in binaries.kwok_stages if stage.name != delete.name), delete]
    return [
        f"--kubeconfig={place.kubeconfig(KWOK)}",
        "--manage-all-nodes=true",
        f"--server-address=127.0.0.1:{place.ports[KWOK]}",
        "--node-ip=10.0.0.1",
        "--cidr=10.64.0.0/10",
        *(f"--config={stage}" for stage in stages),
    ]


def karpenter_environment(place: Place) -> dict[str, str]:
    """Karpenter is configured by its environment."""
    return {
        "KUBECONFIG": str(place.kubeconfig(KARPENTER)),
        "FEATURE_GATES": "CapacityBuffer=true",
        "DISABLE_LEADER_ELECTION": "true",
        "KARPENTER_SERVICE": "karpenter",
        "SYSTEM_NAMESPACE": "kube-system",
        "METRICS_PORT": str(place.ports["karpenter-metrics"]),
        "HEALTH_PROBE_PORT": str(place.ports["karpenter"]),
    }
