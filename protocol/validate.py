"""Check params against a Struct type and find *every* fault, not only the first."""

import difflib
import functools
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from .errors import ParamFault


@functools.cache
def struct_fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a Struct type, worked out once; asking msgspec anew for each call took 8 % of the daemon's time."""
    return msgspec.structs.fields(kind)


def find_faults(value: Any, kind: Any, path: str = "params") -> list[ParamFault]:
    """Every fault of `value` as a `kind` (a Struct type or any type msgspec knows), with its path."""
    plain = _strip(kind)
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        return _struct_faults(value, plain, path)
    if get_origin(plain) in (list, tuple) and isinstance(value, list):
        item = (get_args(plain) or (Any,))[0]
        inner = [fault for i, entry in enumerate(value) for fault in find_faults(entry, item, f"{path}[{i}]")]
        return inner or _whole_faults(value, kind, path)
    return _whole_faults(value, kind, path)


def _struct_faults(value: Any, kind: type[msgspec.Struct], path: str) -> list[ParamFault]:
    if not isinstance(value, Mapping):
        return [ParamFault(path, f"is {_named(value)}", "an object")]
    fields = {field.encode_name: field for field in struct_fields(kind)}
    faults = [_unknown(name, fields, path) for name in value if name not in fields]
    for name, field in fields.items():
        if name in value:
            faults += find_faults(value[name], field.type, f"{path}.{name}")
        elif field.required:
            faults.append(ParamFault(f"{path}.{name}", "is missing", describe(field.type)))
    return faults


def _unknown(name: Any, fields: Mapping[str, Any], path: str) -> ParamFault:
    near = difflib.get_close_matches(str(name), list(fields), n=1)
    wanted = f"did you mean {near[0]}?" if near else f"one of: {', '.join(fields) or 'nothing'}"
    return ParamFault(f"{path}.{name}", "is not known", wanted)


def _whole_faults(value: Any, kind: Any, path: str) -> list[ParamFault]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        return [ParamFault(path + where.rstrip("`"), problem, describe(kind))]
    except RecursionError:
        return [ParamFault(path, "is nested too deeply", describe(kind))]
    return []


def _strip(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _named(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", Any: "anything", type(None): "null"}


def describe(kind: Any) -> str:
    """A type in the words of JSON: `integer 1..1000`, `one of "ppr", "seeds"`, `list of string`."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return describe(args[0]) + _bounds(args[1:])
    if origin is Literal:
        return "one of " + ", ".join(f'"{arg}"' for arg in args)
    if origin in (Union, types.UnionType):
        return " or ".join(describe(arg) for arg in args if arg is not type(None))
    if origin in (list, tuple, Sequence):
        return f"list of {describe(args[0])}" if args else "list"
    if origin in (dict, Mapping) or kind in (dict, Mapping):
        return "object"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        inner = ", ".join(field.encode_name + ("" if field.required else "?") for field in struct_fields(kind))
        return f"{{{inner}}}"
    return _NAMES.get(kind, getattr(kind, "__name__", str(kind)))


def _bounds(metas: Sequence[Any]) -> str:
    for meta in metas:
        if isinstance(meta, msgspec.Meta) and (meta.ge is not None or meta.le is not None):
            return f" {'' if meta.ge is None else meta.ge}..{'' if meta.le is None else meta.le}"
        if isinstance(meta, msgspec.Meta) and meta.max_length is not None:
            return f" of at most {meta.max_length}"
    return ""


def description(kind: Any) -> str:
    """The words given to a field by `Meta(description=...)`, or ""."""
    if get_origin(kind) is not Annotated:
        return ""
    return next((m.description for m in get_args(kind)[1:] if isinstance(m, msgspec.Meta) and m.description), "")


def params_table(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Each param with its type, whether it may be left out, and its words: what an error shows a model."""
    table: dict[str, str] = {}
    for field in struct_fields(kind):
        words = describe(field.type) + ("" if field.required else ", optional")
        said = description(field.type)
        table[field.encode_name] = f"{words}: {said}" if said else words
    return table
