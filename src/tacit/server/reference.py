"""The API's reference as one page that needs nothing from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

__all__ = ["reference_page"]

_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{background:#f2f2f2;color:#111;padding:.1em .3em}table{border-collapse:collapse}"
    "td,th{border:1px solid #767676;padding:.2rem .5rem;text-align:left}"
)


def reference_page(description: Mapping[str, Any]) -> str:
    """Return an OpenAPI description as HTML: every operation, its body's fields and its answers.

    Examples
    --------
    >>> paths = {"/x": {"get": {"summary": "One", "responses": {}}}}
    >>> page = reference_page({"info": {"title": "A & B"}, "paths": paths})
    >>> "<h1>A &amp; B</h1>" in page, "GET /x" in page
    (True, True)
    """
    title = escape(str(description["info"]["title"]))
    body = "".join(_operations(description))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><main>'
        f"<h1>{title}</h1><p>The same as a document: <a href='/api/v1/openapi.json'>openapi.json</a>. Send a token as "
        f"<code>Authorization: Bearer TOKEN</code>.</p>{body}</main></body></html>"
    )


def _operations(description: Mapping[str, Any]) -> Iterator[str]:
    schemas = description.get("components", {}).get("schemas", {})
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>"
            yield f"<p>{escape(operation.get('summary', ''))}</p>"
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                yield f"<p>Body, <code>{escape(kind)}</code>:</p>{_fields(content.get('schema', {}), schemas)}"
            answers: Mapping[str, Mapping[str, Any]] = operation["responses"]
            good = next((told for code, told in answers.items() if code.startswith("2")), {})
            for kind, content in good.get("content", {}).items():
                yield f"<p>Answer, <code>{escape(kind)}</code>:</p>{_fields(content.get('schema', {}), schemas)}"


def _fields(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        schema = schemas.get(schema["$ref"].rpartition("/")[2], {})
    if schema.get("type") == "array":
        return "<p>A list of</p>" + _fields(schema.get("items", {}), schemas)
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(_type(field))}</td>"
        f"<td>{escape(str(field.get('description', '')))}</td></tr>"
        for name, field in schema.get("properties", {}).items()
    )
    if not rows:
        return f"<p>{escape(str(schema.get('description', schema.get('type', ''))))}</p>"
    return f"<table><tr><th>field</th><th>type</th><th>meaning</th></tr>{rows}</table>"


def _type(field: Mapping[str, Any]) -> str:
    kinds = [field, *field.get("anyOf", [])]
    return " or ".join(str(kind["type"]) for kind in kinds if "type" in kind)
