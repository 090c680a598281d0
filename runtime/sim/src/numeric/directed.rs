//! Arithmetic in every rounding direction: the result to nearest, and the sign of what it lost.

use super::convert::round32;
use super::minifloat::Round;
use std::cmp::Ordering;

/// Moves a result to nearest to the neighbour that `round` asks for; `lost` is the sign of the exact result less `r`.
fn settle<F: Copy>(r: F, lost: Option<Ordering>, positive: bool, round: Round, down: fn(F) -> F, up: fn(F) -> F) -> F {
    let toward = match round {
        Round::Nearest | Round::NearestAway => return r,
        Round::Down => Ordering::Less,
        Round::Up => Ordering::Greater,
        Round::Zero if positive => Ordering::Less,
        Round::Zero => Ordering::Greater,
    };
    match lost {
        Some(Ordering::Less) if toward == Ordering::Less => down(r),
        Some(Ordering::Greater) if toward == Ordering::Greater => up(r),
        _ => r,
    }
}

fn settle32(r: f32, lost: f64, positive: bool, round: Round) -> f32 {
    settle(r, lost.partial_cmp(&0.0), positive, round, f32::next_down, f32::next_up)
}

fn settle64(r: f64, lost: f64, positive: bool, round: Round) -> f64 {
    settle(r, lost.partial_cmp(&0.0), positive, round, f64::next_down, f64::next_up)
}

/// The sum of two zeros, or of a number and its negative, which is -0 only when rounding down.
fn zero_sum(a: f64, b: f64, round: Round) -> f64 {
    let negative =
        if a.is_sign_negative() == b.is_sign_negative() { a.is_sign_negative() } else { round == Round::Down };
    if negative { -0.0 } else { 0.0 }
}

/// What `a + b` loses in its rounding to `s`.
fn lost_by_sum(a: f64, b: f64, s: f64) -> f64 {
    let back = s - a;
    (a - (s - back)) + (b - back)
}

/// `a * b + c` of singles, rounded once.
pub fn fused32(a: f32, b: f32, c: f32, round: Round) -> f32 {
    if round == Round::Nearest {
        return a.mul_add(b, c);
    }
    // The product is exact, the sum has bits to spare: with its neighbour on the side of the loss it brackets the result.
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    if sum == 0.0 && product == -c {
        return zero_sum(product, c, round) as f32;
    }
    let lost = if sum.is_finite() { lost_by_sum(product, c, sum) } else { 0.0 };
    let down = round == Round::Down || (round == Round::Zero && sum > 0.0);
    let edge = match lost.partial_cmp(&0.0) {
        Some(Ordering::Greater) if !down => sum.next_up(),
        Some(Ordering::Less) if down => sum.next_down(),
        _ => sum,
    };
    // An edge that is a single is the result itself only where nothing was lost on its far side.
    round32(edge, round)
}

/// `a / b` of singles.
pub fn divide32(a: f32, b: f32, round: Round) -> f32 {
    let r = a / b;
    if !a.is_finite() || !b.is_finite() || a == 0.0 || b == 0.0 {
        return r;
    }
    let lost = (f64::from(a) - f64::from(r) * f64::from(b)) * f64::from(b.signum());
    settle32(r, lost, r.is_sign_positive(), round)
}

/// The square root of a single.
pub fn root32(a: f32, round: Round) -> f32 {
    let r = a.sqrt();
    if r.is_finite() { settle32(r, f64::from(a) - f64::from(r) * f64::from(r), true, round) } else { r }
}

/// Factors that keep residuals of small results away from underflow.
const SCALE: f64 = f64::from_bits((1023 + 540) << 52);
const LARGE: f64 = f64::from_bits((1023 - 700) << 52);
const SMALL: f64 = f64::from_bits((1023 - 900) << 52);

/// `a + b` of doubles.
pub fn add64(a: f64, b: f64, round: Round) -> f64 {
    let s = a + b;
    if s == 0.0 && a == -b {
        return zero_sum(a, b, round);
    }
    if s.is_infinite() && a.is_finite() && b.is_finite() {
        return settle64(s, -s, s > 0.0, round);
    }
    settle64(s, if s.is_finite() { lost_by_sum(a, b, s) } else { 0.0 }, s > 0.0, round)
}

/// `a * b` of doubles.
pub fn mul64(a: f64, b: f64, round: Round) -> f64 {
    let p = a * b;
    if p.is_infinite() && a.is_finite() && b.is_finite() {
        return settle64(p, -p, p > 0.0, round);
    }
    if !p.is_finite() || a == 0.0 || b == 0.0 {
        return p;
    }
    if p == 0.0 {
        return settle64(p, a.signum() * b.signum(), p.is_sign_positive(), round);
    }
    let (small, large) = if a.abs() < b.abs() { (a, b) } else { (b, a) };
    let scale = if p.abs() < SMALL { SCALE } else { 1.0 };
    settle64(p, (small * scale).mul_add(large, -(p * scale)), p.is_sign_positive(), round)
}

/// `a * b + c` of doubles, rounded once.
pub fn fused64(a: f64, b: f64, c: f64, round: Round) -> f64 {
    let r = a.mul_add(b, c);
    if r.is_infinite() && a.is_finite() && b.is_finite() && c.is_finite() {
        return settle64(r, -r, r > 0.0, round);
    }
    if !r.is_finite() {
        return r;
    }
    if a == 0.0 || b == 0.0 {
        return add64(a * b, c, round);
    }
    if c == 0.0 {
        return mul64(a, b, round);
    }
    // Boldo and Muller: the error of a fused operation as a sum of three, here with the small factor and `c` scaled.
    let (small, large) = if a.abs() < b.abs() { (a, b) } else { (b, a) };
    let scale = if r.abs().max(c.abs()) < SMALL { SCALE } else { 1.0 };
    let (small, c, scaled) = (small * scale, c * scale, r * scale);
    let product = small * large;
    if product.abs() < SMALL && (product == 0.0 || c.abs() >= LARGE) {
        // The product only says on which side of `c` the result is.
        return settle64(r, a.signum() * b.signum(), r.is_sign_positive(), round);
    }
    let below = small.mul_add(large, -product);
    let first = c + below;
    let first_lost = lost_by_sum(c, below, first);
    let second = product + first;
    let second_lost = lost_by_sum(product, first, second);
    let lost = ((second - scaled) + second_lost) + first_lost;
    if r == 0.0 && lost == 0.0 {
        return zero_sum(a * b, c, round);
    }
    settle64(r, lost, r.is_sign_positive(), round)
}

/// `a / b` of doubles.
pub fn divide64(a: f64, b: f64, round: Round) -> f64 {
    let q = a / b;
    if !a.is_finite() || !b.is_finite() || a == 0.0 || b == 0.0 {
        return q;
    }
    if q.is_infinite() {
        return settle64(q, -q, q > 0.0, round);
    }
    // Residuals near underflow are computed of numbers that are all larger.
    let (small, scale) = if a.abs() < SMALL { (a * SCALE, SCALE) } else { (a, 1.0) };
    let residual = if q.abs() < 1.0 { (-(q * scale)).mul_add(b, small) } else { (-q).mul_add(b * scale, small) };
    settle64(q, residual * b.signum(), q.is_sign_positive(), round)
}

/// The square root of a double.
pub fn root64(a: f64, round: Round) -> f64 {
    let r = a.sqrt();
    if !r.is_finite() || a == 0.0 {
        return r;
    }
    let (r2, a2) = if a < SMALL { (r * SCALE.sqrt(), a * SCALE) } else { (r, a) };
    settle64(r, -(r2.mul_add(r2, -a2)), true, round)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_operations_round_once() {
        let tiny = f32::from_bits(1);
        assert_eq!(fused32(1.0, 1.0, tiny, Round::Up), 1.0f32.next_up());
        assert_eq!(fused32(1.0, 1.0, tiny, Round::Zero), 1.0);
        assert_eq!(fused32(1.0, 1.0, -tiny, Round::Down), 1.0f32.next_down());
        assert_eq!(fused32(-1.0, 1.0, -tiny, Round::Zero), -1.0);
        assert_eq!(fused32(1.0, 1.0, -tiny, Round::Up), 1.0);
        assert_eq!(fused32(0.1, 0.2, 0.0, Round::Nearest), 0.1f32 * 0.2);
        assert!(fused32(1.0, 1.0, -1.0, Round::Down).is_sign_negative());
        assert!(fused32(1.0, 1.0, -1.0, Round::Up).is_sign_positive());
    }

    #[test]
    fn directed_results_bracket_the_exact_one() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from_bits(seed & 0x801F_FFFF_FFFF_FFFF | 0x3FE0_0000_0000_0000)
        };
        for _ in 0..2000 {
            let (a, b, c) = (next(), next(), next());
            for f in [|a, b, _, r| add64(a, b, r), |a, b, _, r| mul64(a, b, r), fused64, |a, b, _, r| divide64(a, b, r)]
            {
                let f: fn(f64, f64, f64, Round) -> f64 = f;
                let (down, near, up) = (f(a, b, c, Round::Down), f(a, b, c, Round::Nearest), f(a, b, c, Round::Up));
                assert!(down <= near && near <= up && (down == up || down.next_up() == up), "{a} {b} {c}");
                assert_eq!(f(a, b, c, Round::Zero), if near > 0.0 { down } else { up });
            }
            let (down, up) = (root32(a.abs() as f32, Round::Down), root32(a.abs() as f32, Round::Up));
            assert!(down == up || down.next_up() == up);
        }
        assert_eq!(divide32(1.0, 3.0, Round::Up), (1.0f32 / 3.0).next_up().min(1.0 / 2.9).min(0.333_333_34));
        assert_eq!(divide64(f64::MAX, 0.5, Round::Zero), f64::MAX);
    }
}
