"""Prints rows.rs from the installed onnx package: target/venv/bin/python driver/import/src/operators/rows.py > .../rows.rs"""

from collections import defaultdict

from onnx import defs

HEAD = """\
//! One row an operator: name, the versions of its operator set that changed it, and the one that removed it.
//!
//! Facts of the ONNX operator sets `ai.onnx` 1 to {newest} and `ai.onnx.ml` 1 to {newest_ml}, printed by `rows.py`.

/// (operator, since-versions in ascending order, version that removes it or 0)
pub type Row = (&'static str, &'static [i64], i64);
"""


def rows(domain):
    """(name, since-versions, version that removes it or 0) of each operator, by name."""
    since, removed = defaultdict(set), {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain != domain:
            continue
        if schema.deprecated:
            removed[schema.name] = min(schema.since_version, removed.get(schema.name, schema.since_version))
        else:
            since[schema.name].add(schema.since_version)
    for name in sorted(since):
        gone = removed.get(name, 0)
        # A version that is superseded, but not removed (GroupNormalization 18), is one as any other.
        if 0 < gone < max(since[name]):
            since[name].add(gone)
            gone = 0
        yield name, sorted(since[name]), gone


newest = {domain: max(max(v) for _, v, _ in rows(domain)) for domain in ("", "ai.onnx.ml")}
print(HEAD.format(newest=newest[""], newest_ml=newest["ai.onnx.ml"]))
for domain, const in (("", "DEFAULT"), ("ai.onnx.ml", "ML")):
    print(f"/// Operators of `{domain or 'ai.onnx'}`, by name.")
    print(f"#[rustfmt::skip]\npub const {const}: &[Row] = &[")
    for name, since, gone in rows(domain):
        print(f'    ("{name}", &{since}, {gone}),')
    print("];" if domain else "];\n")
