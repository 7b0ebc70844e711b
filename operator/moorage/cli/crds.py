"""`moorage crds`: the CustomResourceDefinitions."""

from __future__ import annotations

import json

import click
import yaml

from moorage.api import crd_documents


@click.command()
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="How to print them."
)
def crds(output: str) -> None:
    """Print the CustomResourceDefinitions.

    \b
    moorage crds | kubectl apply --server-side -f -
    """
    documents = crd_documents()
    if output == "json":
        items = [yaml.safe_load(text) for text in documents.values()]
        click.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2))
        return
    click.echo("---\n".join(documents.values()), nl=False)
