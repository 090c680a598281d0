//! Tokens of PTX text.

use crate::error::{Error, Result};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A name, opcode, directive or register: letters, digits, `_ $ % .` and inner `::`.
    Word(String),
    /// A number as 64 bits; floats as their bits.
    Number(u64),
    /// A quoted string.
    Text(String),
    /// A punctuation character.
    Mark(char),
}

/// Splits `source` into tokens with their lines.
pub fn lex(source: &str) -> Result<Vec<(Token, u32)>> {
    Lexer { bytes: source.as_bytes(), source, at: 0, line: 1, out: Vec::new() }.run()
}

struct Lexer<'a> {
    bytes: &'a [u8],
    source: &'a str,
    at: usize,
    line: u32,
    out: Vec<(Token, u32)>,
}

fn word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%' | b'.')
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(mut self) -> Result<Vec<(Token, u32)>> {
        while self.at < self.bytes.len() {
            let b = self.peek(0);
            match b {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0 => self.at += 1,
                b'/' if self.peek(1) == b'/' => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                b'/' if self.peek(1) == b'*' => self.block_comment(),
                b'"' => self.text()?,
                b'0'..=b'9' => self.number()?,
                _ if word_byte(b) => self.word(),
                _ => {
                    let c = self.source.get(self.at..).and_then(|s| s.chars().next()).unwrap_or('?');
                    if !c.is_ascii() {
                        return Err(Error::syntax(self.line, format!("unexpected character `{c}`")));
                    }
                    self.out.push((Token::Mark(c), self.line));
                    self.at += 1;
                }
            }
        }
        Ok(self.out)
    }

    fn block_comment(&mut self) {
        self.at += 2;
        while self.at < self.bytes.len() && !(self.peek(0) == b'*' && self.peek(1) == b'/') {
            self.line += u32::from(self.peek(0) == b'\n');
            self.at += 1;
        }
        self.at += 2;
    }

    fn text(&mut self) -> Result<()> {
        let start = self.at + 1;
        let mut end = start;
        while end < self.bytes.len() && self.bytes.get(end) != Some(&b'"') {
            end += 1;
        }
        let text = self.source.get(start..end).unwrap_or_default();
        if end >= self.bytes.len() {
            return Err(Error::syntax(self.line, "a string without its closing quote"));
        }
        self.out.push((Token::Text(text.to_string()), self.line));
        self.line += text.matches('\n').count() as u32;
        self.at = end + 1;
        Ok(())
    }

    fn word(&mut self) {
        let start = self.at;
        loop {
            if word_byte(self.peek(0)) {
                self.at += 1;
            } else if self.peek(0) == b':' && self.peek(1) == b':' && self.peek(2).is_ascii_alphanumeric() {
                self.at += 2;
            } else {
                break;
            }
        }
        let word = self.source.get(start..self.at).unwrap_or_default().to_string();
        self.out.push((Token::Word(word), self.line));
    }

    fn number(&mut self) -> Result<()> {
        let start = self.at;
        while word_byte(self.peek(0)) {
            self.at += 1;
        }
        let text = self.source.get(start..self.at).unwrap_or_default();
        let value = number(text).ok_or_else(|| Error::syntax(self.line, format!("`{text}` is not a number")))?;
        self.out.push((Token::Number(value), self.line));
        Ok(())
    }
}

fn number(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0f") {
        return u32::from_str_radix(hex, 16).ok().map(u64::from);
    }
    if let Some(hex) = lower.strip_prefix("0d") {
        return u64::from_str_radix(hex, 16).ok();
    }
    // A decimal float literal is a double.
    if lower.contains('.') {
        return lower.parse::<f64>().ok().map(f64::to_bits);
    }
    let digits = lower.trim_end_matches('u');
    if let Some(hex) = digits.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    if let Some(bin) = digits.strip_prefix("0b") {
        return u64::from_str_radix(bin, 2).ok();
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return u64::from_str_radix(digits, 8).ok();
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_marks() {
        let t = lex("@%p1 ld.shared::cta.b32 %r1, [a+4]; // c\n mov 0f3F800000;").unwrap_or_default();
        assert_eq!(t[0].0, Token::Mark('@'));
        assert_eq!(t[2].0, Token::Word("ld.shared::cta.b32".into()));
        assert_eq!(t.iter().filter(|x| x.0 == Token::Number(0x3F80_0000)).count(), 1);
        assert_eq!(t.last().map(|x| x.1), Some(2));
    }

    #[test]
    fn label_colon_is_its_own_mark() {
        let t = lex("$L__BB0_1: ret;").unwrap_or_default();
        assert_eq!(t[1].0, Token::Mark(':'));
    }
}
