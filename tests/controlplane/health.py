"""Whether a component says that it is healthy."""

import ssl
import urllib.error
import urllib.request

from .commands import APISERVER, CONTROLLER_MANAGER, ETCD, KARPENTER, KWOK, SCHEDULER, Place

TIMEOUT_SECONDS = 2.0
CHECKS = {
    ETCD: ("http", "/health"),
    APISERVER: ("https", "/readyz"),
    CONTROLLER_MANAGER: ("https", "/healthz"),
    SCHEDULER: ("https", "/healthz"),
    KWOK: ("http", "/healthz"),
    KARPENTER: ("http", "/readyz"),
}
NOT_YET = (urllib.error.URLError, OSError)  # what `is_healthy` raises while a component starts


def is_healthy(component: str, place: Place, context: ssl.SSLContext) -> bool:
    """Ask a component's health check; raises one of NOT_YET when there is no answer or a bad one."""
    scheme, path = CHECKS[component]
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),  # a user's proxy is not for loopback
        urllib.request.HTTPSHandler(context=context),
    )
    with opener.open(place.url(component, scheme) + path, timeout=TIMEOUT_SECONDS) as answer:
        return bool(answer.status == 200)
