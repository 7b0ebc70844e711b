"""What the commands about nodes of Amazon EKS have in common: instance types by name, and settings of the CNI."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
import msgspec

from moorage.cli.errors import BadInput
from moorage.cli.files import read_text
from moorage.density.eks import cni
from moorage.density.eks.documents import InstanceTypes, instance_of
from moorage.density.eks.instances import InstanceType, instance_types, similar
from moorage.density.eks.networking import Family, Mode, Networking
from moorage.quoting import quoted

_Model = TypeVar("_Model")

Found = tuple[InstanceType, str]
"""A type, and what to mind about where its limits came from."""


def networking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that decide how pods get their addresses."""
    for option in (
        click.option("--max-eni", type=click.IntRange(min=0), help="MAX_ENI of the CNI; 0 for none."),
        click.option("--custom-networking", is_flag=True, help="Pods have subnets of their own (ENIConfig)."),
        click.option(
            "--mode",
            type=click.Choice([each.value for each in Mode]),
            default=Mode.SECONDARY.value,
            show_default=True,
            help="Single addresses, or /28 prefixes (ENABLE_PREFIX_DELEGATION).",
        ),
    ):
        command = option(command)
    return command


def networking_of(*, mode: str, custom_networking: bool, max_eni: int | None, **others: Any) -> Networking:
    """Return the settings that the options make."""
    family = Family(others.pop("family", Family.AL2023))
    return Networking(Mode(mode), custom_networking=custom_networking, max_eni=max_eni, family=family, **others)


def version_of(text: str | None) -> tuple[int, ...] | None:
    """Read a version such as 1.9.0 or v1.18.1-eksbuild.3."""
    if text is None:
        return None
    version = cni.version_of(text)
    if version is None:
        raise BadInput(f"--cni-version: {quoted(text)} is no version; write one such as 1.18.1")
    return version


def find_types(names: Iterable[str], file: str | None) -> list[Found]:
    """Return the types of these names or patterns (`m5.*`), from a file of EC2 first and the table else.

    Raises BadInput.
    """
    described = {} if file is None else _described(file)
    known = instance_types()
    found: dict[str, Found] = {}
    for name in names:
        matching = [name]
        if any(each in name for each in "*?["):
            matching = fnmatch.filter(sorted(known.keys() | described.keys()), name)
            if not matching:
                raise BadInput(f"no instance type matches {quoted(name)}")
        for each in matching:
            found[each] = described[each] if each in described else (_known(each), "")
    return list(found.values())


def overridden(found: Found, *, enis: int | None, addresses_per_eni: int | None, vcpus: int | None) -> Found:
    """Return a type with limits that somebody knows better."""
    given = {"enis": enis, "addresses_per_eni": addresses_per_eni, "vcpus": vcpus}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(found[0], **changes), found[1]


def _known(name: str) -> InstanceType:
    try:
        return instance_types()[name]
    except KeyError:
        near = similar(name)
        hint = f"did you mean {' or '.join(near)}?" if near else "name one such as m5.large"
        raise BadInput(
            f"{quoted(name)} is no instance type in the table; {hint} (--instance-types reads newer ones)"
        ) from None


def _described(file: str) -> dict[str, Found]:
    answer = answer_of(file, read_text(file), InstanceTypes)
    known = instance_types()
    return {each.instance_type: instance_of(each, known.get(each.instance_type)) for each in answer.instance_types}


def answer_of(file: str, text: str, model: type[_Model]) -> _Model:
    """Return an answer of the AWS command line that was read from a file.

    Raises BadInput, with what is missing where.
    """
    try:
        return msgspec.json.decode(text, type=model)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        raise BadInput(f"{file}: {place.rstrip('`').lstrip('.') or 'the answer'}: {problem}") from error
    except msgspec.DecodeError as error:
        raise BadInput(f"{file} is no JSON: {error}") from error
