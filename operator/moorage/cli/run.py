"""`moorage run`: the operator."""

from __future__ import annotations

import asyncio
import logging
import sys

import click

from moorage.backends.plan import PAUSE_IMAGE


@click.command()
@click.option("-n", "--namespace", "namespaces", multiple=True, help="Work in this namespace only; repeat for more.")
@click.option("--kubeconfig", help="Kubeconfig file. Default: $KUBECONFIG, the pod's service account, ~/.kube/config.")
@click.option("--context", help="Context of the kubeconfig. Default: its current one.")
@click.option("--host", default="0.0.0.0", show_default=True, help="Address of /healthz, /readyz and /metrics.")
@click.option("--port", default=8080, show_default=True, help="Their port; 0 picks a free one.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format of the log."
)
@click.option("-v", "--verbose", is_flag=True, help="Log what is done to each object.")
@click.option(
    "--wait-for-autoscaler",
    default=60.0,
    show_default=True,
    help="Seconds that a controller of autoscaling.x-k8s.io has to answer on a buffer's object before placeholders are "
    "used (backend Auto).",
)
@click.option(
    "--max-placeholders",
    default=5000,
    show_default=True,
    help="Pods that one buffer may have as placeholders (backend Placeholder).",
)
@click.option("--pause-image", default=PAUSE_IMAGE, show_default=True, help="Image of the placeholders.")
@click.option(
    "--verify-interval",
    default=900.0,
    show_default=True,
    help="Seconds between comparisons of what is counted with a new list of all pods; 0 for none.",
)
@click.option(
    "--webhook-port",
    default=0,
    show_default=True,
    help="Port of the webhook that explains refusals (HTTPS); 0 for none.",
)
@click.option(
    "--prometheus",
    default="",
    help="URL of a Prometheus with kube-state-metrics, for demand of the past; empty for none.",
)
@click.option(
    "--system-namespace",
    default="",
    help="Where the webhook's certificate is kept. Default: the pod's own namespace, else moorage-system.",
)
def run(  # noqa: PLR0913 - one for each flag
    *,
    namespaces: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    host: str,
    port: int,
    log_format: str,
    verbose: bool,
    wait_for_autoscaler: float,
    max_placeholders: int,
    pause_image: str,
    verify_interval: float,
    webhook_port: int,
    prometheus: str,
    system_namespace: str,
) -> int:
    """Run the operator until it is told to end (Ctrl-C or SIGTERM).

    It counts pods for NamespaceQuotas, sizes CapacityBuffers, makes what holds their units, and writes all of it into
    their status. The definitions must be in the cluster first: moorage crds | kubectl apply --server-side -f -

    Exit code 0 when it was told to end, 1 when it cannot run, such as without a way to the API server.
    """
    # These take most of a second to import, which the other commands need not wait for.
    from moorage.backends.choice import Patience  # noqa: PLC0415
    from moorage.cluster.errors import ClusterError  # noqa: PLC0415
    from moorage.handlers.provisioning import Limits  # noqa: PLC0415
    from moorage.run import Operator, Options  # noqa: PLC0415

    _configure_logging(verbose=verbose, as_json=log_format == "json")
    options = Options(
        kubeconfig=kubeconfig,
        context=context,
        namespaces=namespaces,
        host=host,
        port=port,
        verify_interval=verify_interval,
        provisioning=Limits(
            patience=Patience(first=wait_for_autoscaler, later=5 * wait_for_autoscaler),
            most_placeholders=max_placeholders,
            pause_image=pause_image,
        ),
        webhook_port=webhook_port,
        prometheus=prometheus,
        system_namespace=system_namespace,
    )
    try:
        asyncio.run(Operator(options).run())
    except (ClusterError, OSError) as error:
        print(f"moorage run: {error}", file=sys.stderr)
        return 1
    return 0


def _configure_logging(*, verbose: bool, as_json: bool) -> None:
    """Log to stderr; of kopf's log only trouble, unless verbose: it has a line for every event of every object."""
    import kopf  # noqa: PLC0415

    kopf.configure(
        verbose=verbose,
        log_format=kopf.LogFormat.JSON if as_json else kopf.LogFormat.FULL,
        log_prefix=None,  # text names the object in front; JSON has it in a field
    )
    if not verbose:
        logging.getLogger("kopf").setLevel(logging.WARNING)
