"""OpenAPI schemas from the models, in the structural form that CustomResourceDefinitions demand.

In the result `x-kubernetes-validations` holds Rule objects, so that one schema serves both the CRDs (which take
their CEL) and the validation of files (which takes their Python).
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Any, TypeAlias

from msgspec import NODEFAULT, inspect

from moorage.api.rules import Rule

VALIDATIONS = "x-kubernetes-validations"
INT_OR_STRING = "x-kubernetes-int-or-string"

Schema: TypeAlias = dict[str, Any]


def schema_of(model: Any) -> Schema:
    """Return the structural schema of a struct, with the descriptions, bounds and rules of its annotations."""
    return _schema(inspect.type_info(model))


def _schema(kind: inspect.Type) -> Schema:
    match kind:
        case inspect.Metadata():
            return _annotated(kind)
        case inspect.UnionType():
            return _union(kind)
        case inspect.StructType():
            return _object(kind)
        case inspect.DictType():
            return {"type": "object", "additionalProperties": _schema(kind.value_type)}
        case inspect.VarTupleType():
            return {"type": "array"} | _given(maxItems=kind.max_length) | {"items": _schema(kind.item_type)}
        case inspect.LiteralType():
            return {"type": "string", "enum": list(kind.values)}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.IntType():
            return {"type": "integer"} | _given(minimum=kind.ge, maximum=kind.le)
        case inspect.StrType():
            lengths = _given(minLength=kind.min_length, maxLength=kind.max_length)
            return {"type": "string"} | lengths | _given(pattern=kind.pattern)
    raise TypeError(f"no schema for {kind}")


def _annotated(kind: inspect.Metadata) -> Schema:
    schema = _schema(kind.type) | (kind.extra_json_schema or {})
    found = [rule for rule in (kind.extra or {}).values() if isinstance(rule, Rule)]
    if found:
        schema[VALIDATIONS] = [*schema.get(VALIDATIONS, ()), *found]
    return schema


def _union(kind: inspect.UnionType) -> Schema:
    """Return the schema of an optional field (absence is not a type here) or of an int-or-string."""
    kinds = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    if len(kinds) == 1:
        return _schema(kinds[0])
    if {type(each) for each in kinds} == {inspect.IntType, inspect.StrType}:
        return {
            INT_OR_STRING: True
        }  # with the usual `anyOf` beside it, a wrong type is answered in five lines, not two
    raise TypeError(f"no structural schema for {kind}")


def _object(kind: inspect.StructType) -> Schema:
    schema: Schema = {"description": cleandoc(kind.cls.__doc__ or ""), "type": "object"}
    required = [field.encode_name for field in kind.fields if field.required]
    if required:
        schema["required"] = required
    schema["properties"] = {field.encode_name: _field(field) for field in kind.fields}
    own_rules = getattr(kind.cls, "rules", ())
    if own_rules:
        schema[VALIDATIONS] = list(own_rules)
    return schema


def _field(field: inspect.Field) -> Schema:
    """Return a field's schema. The models' empty values say "absent" and are no defaults of the schema."""
    if field.default is not NODEFAULT and field.default not in (None, (), "", 0, False):
        return _schema(field.type) | {"default": field.default}
    return _schema(field.type)


def _given(**bounds: Any) -> Schema:
    return {name: value for name, value in bounds.items() if value is not None}
