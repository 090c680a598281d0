//! How rows of instructions are written: a macro for each form of operands. A row's function does a whole warp.

macro_rules! un {
    ($t:ty, |$a:ident| $e:expr) => {
        Row {
            arity: 1,
            f: |a, _, _| {
                from_fn(|i| {
                    let $a = <$t as Lane>::get(a[i]);
                    ($e).put()
                })
            },
        }
    };
}
macro_rules! bin {
    ($t:ty, |$a:ident, $b:ident| $e:expr) => {
        Row {
            arity: 2,
            f: |a, b, _| {
                from_fn(|i| {
                    let ($a, $b) = (<$t as Lane>::get(a[i]), <$t as Lane>::get(b[i]));
                    ($e).put()
                })
            },
        }
    };
}
macro_rules! tri {
    ($t:ty, |$a:ident, $b:ident, $c:ident| $e:expr) => {
        Row {
            arity: 3,
            f: |a, b, c| {
                from_fn(|i| {
                    let ($a, $b, $c) = (<$t as Lane>::get(a[i]), <$t as Lane>::get(b[i]), <$t as Lane>::get(c[i]));
                    ($e).put()
                })
            },
        }
    };
}
/// The third operand has a type of its own.
macro_rules! mix {
    ($t:ty, $u:ty, $v:ty, |$a:ident, $b:ident, $c:ident| $e:expr) => {
        Row {
            arity: 3,
            f: |a, b, c| {
                from_fn(|i| {
                    let ($a, $b, $c) = (<$t as Lane>::get(a[i]), <$u as Lane>::get(b[i]), <$v as Lane>::get(c[i]));
                    ($e).put()
                })
            },
        }
    };
}
macro_rules! shift {
    ($t:ty, |$a:ident, $n:ident| $e:expr) => {
        Row {
            arity: 2,
            f: |a, b, _| {
                from_fn(|i| {
                    let ($a, $n) = (<$t as Lane>::get(a[i]), b[i] as u32);
                    ($e).put()
                })
            },
        }
    };
}
/// Both 16-bit halves of a 32-bit lane.
macro_rules! two {
    ($t:ty, |$a:ident, $b:ident, $c:ident| $e:expr, $n:expr) => {
        Row {
            arity: $n,
            f: |a, b, c| {
                from_fn(|i| {
                    let half = |s: u32| {
                        let ($a, $b, $c) =
                            (<$t as Lane>::get(a[i] >> s), <$t as Lane>::get(b[i] >> s), <$t as Lane>::get(c[i] >> s));
                        let _ = (&$b, &$c);
                        ($e).put() & 0xFFFF
                    };
                    half(0) | half(16) << 16
                })
            },
        }
    };
}
