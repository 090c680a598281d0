//! Compares outputs with what was expected.

use serde::Serialize;

use super::tensor::{Element, Tensor};

/// How near is near enough: `|found - expected| <= atol + rtol * |expected|`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tolerance {
    /// Relative to the expected value.
    pub rtol: f64,
    /// Absolute.
    pub atol: f64,
}

/// What the comparison of one output came to.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Name of the output.
    pub name: String,
    /// Type, shape and all elements agree.
    pub pass: bool,
    /// Number of elements.
    pub elements: usize,
    /// Elements that differ by more than the tolerance.
    pub mismatches: usize,
    /// Largest absolute difference of finite elements.
    pub max_abs: f64,
    /// Largest difference relative to the expected value.
    pub max_rel: f64,
    /// What is wrong, where something is.
    pub problem: Option<String>,
}

/// Compares an output. NaN agrees with NaN, and an infinity with itself.
pub fn compare(name: &str, found: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Comparison {
    let mut result = Comparison {
        name: name.to_string(),
        pass: false,
        elements: found.count(),
        mismatches: 0,
        max_abs: 0.0,
        max_rel: 0.0,
        problem: None,
    };
    if found.dtype() != expected.dtype() {
        result.problem = Some(format!("type {}, expected {}", found.dtype(), expected.dtype()));
        return result;
    }
    if found.dims() != expected.dims() {
        result.problem = Some(format!("shape {:?}, expected {:?}", found.dims(), expected.dims()));
        return result;
    }
    for (i, (found, expected)) in found.elements().zip(expected.elements()).enumerate() {
        let difference = difference(found, expected);
        if difference.is_finite() {
            let magnitude = expected.to_f64().abs();
            result.max_abs = result.max_abs.max(difference);
            if magnitude > 0.0 {
                result.max_rel = result.max_rel.max(difference / magnitude);
            }
        }
        let near = difference <= tolerance.atol + tolerance.rtol * expected.to_f64().abs();
        if difference != 0.0 && !(difference.is_finite() && near) {
            result.mismatches += 1;
            if result.problem.is_none() {
                let (found, expected) = (text(found), text(expected));
                result.problem = Some(format!("element {i} is {found}, expected {expected}"));
            }
        }
    }
    result.pass = result.mismatches == 0;
    result
}

/// The absolute difference: 0 for two NaNs and for equal infinities, infinite where only one is.
fn difference(found: Element, expected: Element) -> f64 {
    match (found, expected) {
        (Element::Int(found), Element::Int(expected)) => found.abs_diff(expected) as f64,
        (found, expected) => {
            let (found, expected) = (found.to_f64(), expected.to_f64());
            let same = found == expected || (found.is_nan() && expected.is_nan());
            let difference = (found - expected).abs();
            match (same, difference.is_nan()) {
                (true, _) => 0.0,
                (false, true) => f64::INFINITY,
                (false, false) => difference,
            }
        }
    }
}

fn text(element: Element) -> String {
    match element {
        Element::Float(value) => value.to_string(),
        Element::Int(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use aitmlir_runtime::info::DType;

    use super::*;

    const EXACT: Tolerance = Tolerance { rtol: 0.0, atol: 0.0 };

    fn floats(values: &[f32]) -> Tensor {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Tensor::from_bytes(DType::F32, &[values.len() as i64], &bytes).expect("tensor")
    }

    #[test]
    fn special_values() {
        let special = floats(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0]);
        assert!(compare("y", &special, &floats(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0]), EXACT).pass);
        let loose = Tolerance { rtol: 1.0, atol: 1.0 };
        for other in [1.0, f32::INFINITY, f32::NAN] {
            assert!(!compare("y", &floats(&[f32::NEG_INFINITY]), &floats(&[other]), loose).pass, "{other}");
        }
        assert!(!compare("y", &floats(&[1.0]), &floats(&[f32::INFINITY]), loose).pass);
    }

    #[test]
    fn tolerances() {
        let (found, expected) = (floats(&[1.0, 101.0]), floats(&[1.0, 100.0]));
        assert!(compare("y", &found, &expected, Tolerance { rtol: 0.01, atol: 0.0 }).pass);
        let off = compare("y", &found, &expected, Tolerance { rtol: 0.001, atol: 0.0 });
        assert_eq!((off.pass, off.mismatches, off.max_abs), (false, 1, 1.0));
        assert_eq!(off.problem.as_deref(), Some("element 1 is 101, expected 100"));
        assert!(!compare("y", &floats(&[1.0]), &expected, EXACT).pass);
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        let ints = |value: i64| Tensor::from_bytes(DType::I64, &[], &value.to_le_bytes()).expect("tensor");
        assert!(!compare("y", &ints(i64::MAX), &ints(i64::MAX - 1), EXACT).pass);
        assert!(compare("y", &ints(i64::MIN), &ints(i64::MIN), EXACT).pass);
    }
}
