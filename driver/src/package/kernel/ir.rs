//! LLVM IR as text: a function that grows line by line, and formulas of a launch in it.

use std::fmt::{Display, Write as _};

use kernel_launch::Expr;

/// One function. Values and blocks get numbers as they are made.
pub(super) struct Function {
    text: String,
    next: usize,
}

impl Function {
    /// Begins a function: `i32 @f(ptr %x)`.
    pub(super) fn new(signature: &str) -> Function {
        Function { text: format!("define {signature} {{\nentry:\n"), next: 0 }
    }

    /// An instruction with a result.
    pub(super) fn value(&mut self, instruction: impl Display) -> String {
        self.next += 1;
        let name = format!("%v{}", self.next);
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "  {name} = {instruction}");
        name
    }

    /// An instruction without one.
    pub(super) fn line(&mut self, instruction: impl Display) {
        let _ = writeln!(self.text, "  {instruction}");
    }

    /// The name of a block that will be begun later.
    pub(super) fn label(&mut self) -> String {
        self.next += 1;
        format!("b{}", self.next)
    }

    /// Begins a block.
    pub(super) fn begin(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    /// Goes to `label` where `condition` holds, and goes on here where it does not.
    pub(super) fn leave_if(&mut self, condition: &str, label: &str) {
        let next = self.label();
        self.line(format!("br i1 {condition}, label %{label}, label %{next}"));
        self.begin(&next);
    }

    /// The address of word `i` of an array of words.
    pub(super) fn word(&mut self, array: &str, i: impl Display) -> String {
        self.value(format!("getelementptr i64, ptr {array}, i64 {i}"))
    }

    /// Loads word `i` of an array of words.
    pub(super) fn load(&mut self, r#type: &str, array: &str, i: impl Display) -> String {
        let at = self.word(array, i);
        self.value(format!("load {type}, ptr {at}"))
    }

    /// Stores to word `i` of an array of words.
    pub(super) fn store(&mut self, r#type: &str, value: &str, array: &str, i: impl Display) {
        let at = self.word(array, i);
        self.line(format!("store {type} {value}, ptr {at}"));
    }

    /// Ends the function.
    pub(super) fn end(mut self) -> String {
        self.text.push_str("}\n\n");
        self.text
    }

    /// The value of a formula, an i64. `dims` are the launch's integers, `sms` the multiprocessors.
    pub(super) fn formula(&mut self, formula: &Expr, dims: &[String], sms: &str) -> String {
        let (kind, a, b) = match formula {
            Expr::Const(value) => return value.to_string(),
            Expr::Dim(i) => return dims[*i as usize].clone(),
            Expr::Sms => return sms.to_owned(),
            Expr::Add(a, b) => ("add", a, b),
            Expr::Sub(a, b) => ("sub", a, b),
            Expr::Mul(a, b) => ("mul", a, b),
            Expr::Div(a, b) => ("sdiv", a, b),
            Expr::CeilDiv(a, b) => ("ceil", a, b),
            Expr::Rem(a, b) => ("srem", a, b),
            Expr::Min(a, b) => ("smin", a, b),
            Expr::Max(a, b) => ("smax", a, b),
            Expr::Less(a, b) => ("slt", a, b),
            Expr::Equal(a, b) => ("eq", a, b),
        };
        let (a, b) = (self.formula(a, dims, sms), self.formula(b, dims, sms));
        match kind {
            "sdiv" | "srem" => {
                let b = self.divisor(&b);
                self.value(format!("{kind} i64 {a}, {b}"))
            }
            "ceil" => {
                let b = self.divisor(&b);
                let less = self.value(format!("sub i64 {b}, 1"));
                let sum = self.value(format!("add i64 {a}, {less}"));
                self.value(format!("sdiv i64 {sum}, {b}"))
            }
            "smin" | "smax" => self.value(format!("call i64 @llvm.{kind}.i64(i64 {a}, i64 {b})")),
            "slt" | "eq" => {
                let holds = self.value(format!("icmp {kind} i64 {a}, {b}"));
                self.value(format!("zext i1 {holds} to i64"))
            }
            _ => self.value(format!("{kind} i64 {a}, {b}")),
        }
    }

    /// A divisor that is not zero: a formula divides by a size only where that is not, so that the value does not count.
    fn divisor(&mut self, value: &str) -> String {
        let zero = self.value(format!("icmp eq i64 {value}, 0"));
        self.value(format!("select i1 {zero}, i64 1, i64 {value}"))
    }

    /// `low <= value <= high`
    pub(super) fn within(&mut self, value: &str, low: i64, high: i64) -> String {
        let above = self.value(format!("icmp sge i64 {value}, {low}"));
        let below = self.value(format!("icmp sle i64 {value}, {high}"));
        self.value(format!("and i1 {above}, {below}"))
    }
}

/// A private C string of the module: its definition and its length with the NUL.
pub(super) fn string(name: &str, text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' | b'!' | b'#'..=b'[' | b']'..=b'~' => escaped.push(char::from(byte)),
            _ => {
                let _ = write!(escaped, "\\{byte:02X}");
            }
        }
    }
    format!("@{name} = internal unnamed_addr constant [{} x i8] c\"{escaped}\\00\"\n", text.len() + 1)
}
