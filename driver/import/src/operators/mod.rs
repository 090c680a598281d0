//! Which versions of an operator there are.

mod rows;

/// Oldest operator set of the default domain that operators are imported from (version 6 is brought up to it where its
/// meaning allows).
pub const OLDEST_OPSET: i64 = 7;

/// Newest operator set of the default domain that is known.
pub const NEWEST_OPSET: i64 = 28;

/// Domain of the classic machine-learning operators.
pub const ML_DOMAIN: &str = "ai.onnx.ml";

fn table(domain: &str) -> &'static [rows::Row] {
    match domain {
        "" => rows::DEFAULT,
        ML_DOMAIN => rows::ML,
        _ => &[],
    }
}

/// The version of an operator that is in force in operator set `opset` of its domain: the newest since-version not after
/// it. `None`: the operator is unknown, younger, or gone.
pub fn since_version(domain: &str, op: &str, opset: i64) -> Option<i64> {
    let rows = table(domain);
    let row = rows.binary_search_by(|row| row.0.cmp(op)).ok().and_then(|i| rows.get(i))?;
    if row.2 != 0 && opset >= row.2 {
        return None;
    }
    row.1.iter().copied().rfind(|&v| v <= opset)
}

/// The version of an operator that an importer must follow in operator set `opset`, or why there is none.
pub fn version(domain: &str, op: &str, opset: i64) -> Result<i64, String> {
    let named = if domain.is_empty() { "ai.onnx" } else { domain };
    if opset == 0 {
        return Err(format!("the model imports no operator set of domain {named:?}"));
    }
    if domain.is_empty() && !(OLDEST_OPSET..=NEWEST_OPSET).contains(&opset) {
        return Err(format!("operator set {opset}; {OLDEST_OPSET} to {NEWEST_OPSET} are supported"));
    }
    if table(domain).is_empty() {
        return Ok(opset);
    }
    since_version(domain, op, opset).ok_or_else(|| match since_versions(domain, op) {
        [] => format!("{named} has no such operator"),
        [first, ..] if *first > opset => {
            format!("operator set {opset} has no such operator yet, it came with {first}")
        }
        _ => format!("operator set {opset} has no such operator any more"),
    })
}

/// All since-versions of an operator, ascending; empty when it is unknown.
pub fn since_versions(domain: &str, op: &str) -> &'static [i64] {
    let rows = table(domain);
    rows.binary_search_by(|row| row.0.cmp(op)).ok().and_then(|i| rows.get(i)).map_or(&[], |row| row.1)
}

/// Names of all known operators of a domain, ascending.
pub fn names(domain: &str) -> impl Iterator<Item = &'static str> {
    table(domain).iter().map(|row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_within_range() {
        for domain in ["", ML_DOMAIN] {
            let rows = table(domain);
            assert!(rows.is_sorted_by(|a, b| a.0 < b.0));
            for row in rows {
                assert!(row.1.is_sorted_by(|a, b| a < b) && !row.1.is_empty(), "{}", row.0);
                assert!(row.1.iter().all(|&v| v <= NEWEST_OPSET), "{}", row.0);
            }
        }
    }

    #[test]
    fn lookups() {
        assert_eq!(since_version("", "Add", 6), Some(6));
        assert_eq!(since_version("", "Add", 13), Some(13));
        assert_eq!(since_version("", "Attention", 22), None);
        assert_eq!(since_version("", "Upsample", 9), Some(9));
        assert_eq!(since_version("", "Upsample", 10), None);
        assert_eq!(since_version("", "Nonsense", 20), None);
        assert_eq!(since_version("com.microsoft", "Add", 1), None);
        assert_eq!(since_version(ML_DOMAIN, "ArrayFeatureExtractor", 3), Some(1));
        assert_eq!(since_versions("", "Softmax"), [1, 11, 13]);
    }

    #[test]
    fn reasons() {
        assert_eq!(version("", "Softmax", 12), Ok(11));
        assert_eq!(version("com.microsoft", "Anything", 1), Ok(1));
        let reason = |op, opset| version("", op, opset).unwrap_err();
        assert_eq!(reason("Add", 0), "the model imports no operator set of domain \"ai.onnx\"");
        assert_eq!(reason("Add", 6), "operator set 6; 7 to 28 are supported");
        assert_eq!(reason("Nonsense", 9), "ai.onnx has no such operator");
        assert_eq!(reason("Attention", 22), "operator set 22 has no such operator yet, it came with 23");
        assert_eq!(reason("Upsample", 10), "operator set 10 has no such operator any more");
    }
}
