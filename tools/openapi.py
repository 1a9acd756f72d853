"""Describe the calls of the contract as JSON over HTTP; --check fails if it would change.

Comments of the contract become descriptions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2

ROOT = Path(__file__).parents[1]
PROTO = ROOT / "proto"
TARGET = ROOT / "server/linkscore_server/openapi.json"
PACKAGE = "linkscore.v1"

_Field = descriptor_pb2.FieldDescriptorProto
_NUMBER: dict[str, Any] = {"type": "number"}
_INTEGER: dict[str, Any] = {"type": "integer"}
_LONG: dict[str, Any] = {"type": "string", "format": "int64", "pattern": "^-?[0-9]+$"}
_SCALARS: dict[int, dict[str, Any]] = {
    _Field.TYPE_DOUBLE: _NUMBER,
    _Field.TYPE_FLOAT: _NUMBER,
    _Field.TYPE_INT32: _INTEGER | {"format": "int32"},
    _Field.TYPE_UINT32: _INTEGER | {"minimum": 0},
    _Field.TYPE_INT64: _LONG,
    _Field.TYPE_UINT64: _LONG | {"format": "uint64", "pattern": "^[0-9]+$"},
    _Field.TYPE_BOOL: {"type": "boolean"},
    _Field.TYPE_STRING: {"type": "string"},
    _Field.TYPE_BYTES: {"type": "string", "format": "byte"},
}
_KNOWN: dict[str, dict[str, Any]] = {
    ".google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    ".google.protobuf.Duration": {"type": "string", "examples": ["1.5s"]},
    ".google.protobuf.FieldMask": {"type": "string", "examples": ["displayName,policy"]},
    ".google.protobuf.Empty": {"type": "object"},
    ".google.protobuf.Struct": {"type": "object"},
    ".google.protobuf.Value": {},
}
_ERROR: dict[str, Any] = {
    "type": "object",
    "description": "Why a call failed, as Connect writes it. docs/reference/errors.md says what to do.",
    "required": ["code"],
    "properties": {
        "code": {"type": "string", "examples": ["not_found"]},
        "message": {"type": "string"},
        "details": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "examples": ["google.rpc.ErrorInfo"]},
                    "value": {"type": "string", "format": "byte"},
                    "debug": {"type": "object", "examples": [{"reason": "CRAWL_NOT_FOUND"}]},
                },
            },
        },
    },
}


def main() -> int:
    """Write the description, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="interpreter of the environment that holds grpcio-tools")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    fresh = json.dumps(described(files_of(given.python)), indent=1, ensure_ascii=False) + "\n"
    if not given.check:
        TARGET.write_text(fresh, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == fresh:
        return 0
    print(f"{TARGET.relative_to(ROOT)}: not what the contract says, run make gen", file=sys.stderr)
    return 1


def files_of(python: str) -> list[descriptor_pb2.FileDescriptorProto]:
    """Return the files of the contract, with their comments."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "set")
        names = sorted(str(path.relative_to(PROTO)) for path in (PROTO / "linkscore/v1").glob("*.proto"))
        command = [python, "-m", "grpc_tools.protoc", f"-I{PROTO}", "--include_source_info"]
        subprocess.run([*command, f"--descriptor_set_out={out}", *names], check=True)
        return list(descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file)


def described(files: list[descriptor_pb2.FileDescriptorProto]) -> dict[str, Any]:
    """Return the description of all calls, and of the messages they need."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for file in files:
        said = comments(file)
        for at, service in enumerate(file.service):
            for which, method in enumerate(service.method):
                text = said.get((6, at, 2, which), "")
                paths[f"/{PACKAGE}.{service.name}/{method.name}"] = {"post": _call(service, method, text)}
        schemas |= dict(_messages(file, said))
    used = _reached(paths, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "linkscore",
            "version": "v1",
            "description": "The calls of linkscore as JSON over HTTP, Connect's unary protocol. "
            "Names of fields may be written as here or as in the contract.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {name: schemas[name] for name in sorted(used)} | {"Error": _ERROR},
        },
    }


def comments(file: descriptor_pb2.FileDescriptorProto) -> dict[tuple[int, ...], str]:
    """Return the comment before each element, by its path in the descriptor."""
    return {
        tuple(place.path): " ".join(place.leading_comments.split())
        for place in file.source_code_info.location
        if place.leading_comments
    }


def _call(
    service: descriptor_pb2.ServiceDescriptorProto, method: descriptor_pb2.MethodDescriptorProto, text: str
) -> dict[str, Any]:
    return {
        "operationId": f"{service.name}_{method.name}",
        "tags": [service.name],
        "description": text,
        "requestBody": {"required": True, "content": _content(_ref(method.input_type))},
        "responses": {
            "200": {"description": "The answer.", "content": _content(_ref(method.output_type))},
            "default": {"description": "The call failed.", "content": _content(_ref("Error"))},
        },
    }


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name.removeprefix(f'.{PACKAGE}.')}"}


def _messages(
    file: descriptor_pb2.FileDescriptorProto, said: dict[tuple[int, ...], str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for at, enum in enumerate(file.enum_type):
        yield enum.name, _enum(enum, said, (5, at))
    for at, message in enumerate(file.message_type):
        yield from _message(message, said, (4, at), message.name)


def _enum(
    enum: descriptor_pb2.EnumDescriptorProto, said: dict[tuple[int, ...], str], path: tuple[int, ...]
) -> dict[str, Any]:
    values = [f"{one.name}: {said.get((*path, 2, at), '')}" for at, one in enumerate(enum.value)]
    text = "\n".join([said.get(path, ""), *values])
    return {"type": "string", "enum": [one.name for one in enum.value], "description": text}


def _message(
    message: descriptor_pb2.DescriptorProto,
    said: dict[tuple[int, ...], str],
    path: tuple[int, ...],
    name: str,
) -> Iterator[tuple[str, dict[str, Any]]]:
    maps = {f".{PACKAGE}.{name}.{one.name}": one for one in message.nested_type if one.options.map_entry}
    properties = {}
    for at, field in enumerate(message.field):
        text = said.get((*path, 2, at), "")
        properties[field.json_name] = _field(field, maps) | ({"description": text} if text else {})
    yield name, {"type": "object", "description": said.get(path, ""), "properties": properties}
    for at, enum in enumerate(message.enum_type):
        yield f"{name}.{enum.name}", _enum(enum, said, (*path, 4, at))
    for at, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:
            yield from _message(nested, said, (*path, 3, at), f"{name}.{nested.name}")


def _field(field: _Field, maps: dict[str, descriptor_pb2.DescriptorProto]) -> dict[str, Any]:
    if field.type_name in maps:
        return {"type": "object", "additionalProperties": _one(maps[field.type_name].field[1])}
    if field.label == _Field.LABEL_REPEATED:
        return {"type": "array", "items": _one(field)}
    return _one(field)


def _one(field: _Field) -> dict[str, Any]:
    if field.type in _SCALARS:
        return _SCALARS[field.type]
    return _KNOWN[field.type_name] if field.type_name in _KNOWN else _ref(field.type_name)


def _reached(paths: dict[str, Any], schemas: dict[str, Any]) -> set[str]:
    """Return the schemas that calls need, directly or by another one."""
    found: set[str] = set()
    waiting = [paths]
    while waiting:
        for name in set(_refs(waiting.pop())) - found - {"Error"}:
            found.add(name)
            waiting.append(schemas[name])
    return found


def _refs(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(ref := part.get("$ref"), str):
            yield ref.rpartition("/")[2]
        for value in part.values():
            yield from _refs(value)
    elif isinstance(part, list):
        for value in part:
            yield from _refs(value)


if __name__ == "__main__":
    sys.exit(main())
