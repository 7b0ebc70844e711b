"""Pod templates and plans for tests of what is made of them."""

from __future__ import annotations

from typing import Any

from moorage.backends.plan import Owner, Plan

OWNER = Owner("team-a", "web", "uid-1")
WEB = {"app": "web"}


def app(name: str = "app", requests: dict[str, str] | None = None, **further: Any) -> dict[str, Any]:
    """A container."""
    resources = {"requests": requests} if requests is not None else {"requests": {"cpu": "1", "memory": "1Gi"}}
    return {"name": name, "image": f"example/{name}:1", "resources": resources, **further}


def template(*containers: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod template with these containers (or one), labelled app=web."""
    return {
        "metadata": {"labels": labels if labels is not None else dict(WEB)},
        "spec": {"containers": list(containers) or [app()], **spec},
    }


def plan(made_of: dict[str, Any] | None = None, **further: Any) -> Plan:
    """A plan for the buffer `web` of namespace `team-a`."""
    return Plan(OWNER, made_of if made_of is not None else template(), **further)
