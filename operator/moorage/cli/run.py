"""`moorage run`: the operator."""

from __future__ import annotations

import asyncio
import sys

import click


@click.command()
@click.option("-n", "--namespace", "namespaces", multiple=True, help="Work in this namespace only; repeat for more.")
@click.option("--kubeconfig", help="Kubeconfig file. Default: $KUBECONFIG, the pod's service account, ~/.kube/config.")
@click.option("--context", help="Context of the kubeconfig. Default: its current one.")
@click.option("--host", default="0.0.0.0", show_default=True, help="Address of /healthz, /readyz and /metrics.")
@click.option("--port", default=8080, show_default=True, help="Their port; 0 picks a free one.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-v", "--verbose", is_flag=True, help="Log what is done to each object.")
@click.option(
    "--verify-interval", default=900.0, show_default=True, help="Seconds between proofs of the ledger; 0 for none."
)
def run(
    *,
    namespaces: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    host: str,
    port: int,
    log_format: str,
    verbose: bool,
    verify_interval: float,
) -> int:
    """Run the operator until it is told to end."""
    # These take most of a second to import, which the other commands need not wait for.
    import kopf  # noqa: PLC0415

    from moorage.cluster.errors import ClusterError  # noqa: PLC0415
    from moorage.run import Operator, Options  # noqa: PLC0415

    kopf.configure(verbose=verbose, log_format=kopf.LogFormat.JSON if log_format == "json" else kopf.LogFormat.FULL)
    options = Options(
        kubeconfig=kubeconfig,
        context=context,
        namespaces=namespaces,
        host=host,
        port=port,
        verify_interval=verify_interval,
    )
    try:
        asyncio.run(Operator(options).run())
    except (ClusterError, OSError) as error:
        print(f"moorage run: {error}", file=sys.stderr)
        return 1
    return 0
