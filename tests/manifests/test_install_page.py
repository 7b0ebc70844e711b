"""The page on installing tells the rights that are given."""

from __future__ import annotations

import re

from tests.manifests.documents import BASE, REPOSITORY, of_kind, operator_rules, read_folder, rights

PAGE = (REPOSITORY / "docs" / "install.md").read_text()
ROLES = of_kind(read_folder(BASE), "ClusterRole")
OWN = of_kind(read_folder(BASE), "Role")


def test_the_table_of_rights_has_every_rule_with_a_reason() -> None:
    section = PAGE.split("## What the operator may do")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in section.splitlines() if row.startswith("|")][2:]
    told = {
        ("" if group == "core" else group, resource, verb)
        for group, resources, verbs, _ in rows
        for resource in resources.split(", ")
        for verb in verbs.split(", ")
    }
    assert told == set(rights(operator_rules([*ROLES, *OWN])))
    assert all(reason for *_, reason in rows)


def test_the_table_of_people_has_every_other_role() -> None:
    section = PAGE.split("## What people may do")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `([\w-]+)` ", section, flags=re.MULTILINE))
    names = {role["metadata"]["name"] for role in ROLES}
    assert named == {name for name in names if not name.startswith("moorage-operator")}
