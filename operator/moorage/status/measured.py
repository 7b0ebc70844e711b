"""What a buffer's status says of what was measured."""

from __future__ import annotations

import msgspec

from moorage.api.capacitybuffer_status import CapacityBufferStatus, MethodInForce, SizingStatus
from moorage.api.measured import LatencyStatus, MeasuredStatus
from moorage.buffer.measured import Measured, Quantiles


def with_measured(
    status: CapacityBufferStatus, measured: Measured, record: str, *, method: MethodInForce
) -> CapacityBufferStatus:
    """Add what was measured, and the record that outlives a restart; nothing where nothing is measured.

    `method` is what the spec says, for a buffer that has no size.
    """
    if not (record or measured.rate or measured.recorded or measured.pods):
        return status
    recorded = measured.recorded
    found = MeasuredStatus(
        pods=measured.pods,
        days=f"{recorded.days:.1f}" if recorded is not None else "",
        rate=f"{float(measured.rate.per_second):.3g}" if measured.rate is not None else "",
        busiest=measured.busiest,
        resume=_latency(measured.resume),
        cold=_latency(measured.cold),
        after=_latency(measured.after),
        record=record,
    )
    # What was learnt outlives that there is no size for now, such as while the workload is gone.
    sizing = status.sizing if status.sizing is not None else SizingStatus(method=method)
    return msgspec.structs.replace(status, sizing=msgspec.structs.replace(sizing, measured=found))


def _latency(found: Quantiles | None) -> LatencyStatus | None:
    if found is None or not found.samples:
        return None
    waits = (found.p50, found.p90, found.p95, found.p99)
    p50, p90, p95, p99 = (f"{wait:g}s" if wait is not None else "" for wait in waits)
    return LatencyStatus(samples=found.samples, waiting=found.waiting, p50=p50, p90=p90, p95=p95, p99=p99)
