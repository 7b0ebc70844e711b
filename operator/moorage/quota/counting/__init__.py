"""From typed objects to records: what each kind of object counts for, one module per kind."""

from moorage.quota.counting.devices import DeviceClasses, device_claim_use, names_of_classes
from moorage.quota.counting.objects import object_use
from moorage.quota.counting.pods import is_finished, pod_amounts, pod_use, released_at
from moorage.quota.counting.services import service_use
from moorage.quota.counting.volumes import volume_claim_use

__all__ = [
    "DeviceClasses",
    "device_claim_use",
    "is_finished",
    "names_of_classes",
    "object_use",
    "pod_amounts",
    "pod_use",
    "released_at",
    "service_use",
    "volume_claim_use",
]
