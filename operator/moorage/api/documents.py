"""How generated objects are written as YAML files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

_LINE = 120


class _Dumper(yaml.SafeDumper):
    """Writes long texts as blocks, so that nothing in them is escaped, and shares nothing by anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else ">" if len(text) > _LINE and " " in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(*documents: Mapping[str, Any], header: Iterable[str]) -> str:
    """Return objects as the text of one file, below a comment of these lines."""
    texts = (yaml.dump(each, Dumper=_Dumper, sort_keys=False, width=_LINE, allow_unicode=True) for each in documents)
    return "".join(f"# {line}\n" for line in header) + "---\n".join(texts)
