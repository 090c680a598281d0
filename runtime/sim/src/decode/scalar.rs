//! Arithmetic, comparisons, conversions and moves.

use super::{Decoder, logic};
use crate::error::{Error, Result};
use crate::exec::{alu, compare};
use crate::numeric::convert::{Conversion, Scalar};
use crate::numeric::minifloat::Round;
use crate::program::{FloatClass, FloatTest, LogicOp, MadCarry, Mods, Op, PredSrc, Src, Width};
use crate::syntax::{Instruction, Operand};

/// Modifiers that do not choose another row: the default rounding, and spellings of the default.
const PLAIN: [&str; 3] = ["rn", "noftz", "ftz"];

impl Decoder<'_> {
    /// An instruction of registers alone.
    pub fn scalar_op(&mut self, inst: &Instruction) -> Result<Op> {
        let stem = inst.parts.first().map_or("", String::as_str);
        let ty = inst.parts.last().map_or("", String::as_str);
        match stem {
            "setp" => self.setp(inst, ty),
            "set" => self.set(inst, ty),
            "selp" => Ok(Op::Selp {
                dst: self.dst(inst, 0)?,
                a: self.src(inst, 1, ty)?,
                b: self.src(inst, 2, ty)?,
                p: self.pred(inst, 3)?,
            }),
            "cvt" => self.cvt(inst),
            "mov" if ty != "pred" => self.mov(inst, ty),
            "testp" => self.testp(inst, ty),
            "lop3" => Ok(Op::Lop3 {
                dst: self.dst(inst, 0)?,
                src: [self.src(inst, 1, ty)?, self.src(inst, 2, ty)?, self.src(inst, 3, ty)?],
                table: self.constant(inst, 4)? as u32,
            }),
            "bfi" => Ok(Op::Bfi {
                dst: self.dst(inst, 0)?,
                src: [
                    self.src(inst, 1, ty)?,
                    self.src(inst, 2, ty)?,
                    self.src(inst, 3, "u32")?,
                    self.src(inst, 4, "u32")?,
                ],
                bits: if ty == "b64" { 64 } else { 32 },
            }),
            _ if ty == "pred" => self.predicate_logic(inst, stem),
            "add" | "sub" if inst.has("cc") => self.carry(inst, stem, ty),
            "addc" | "subc" => self.carry(inst, stem, ty),
            "madc" => self.mad_carry(inst, ty),
            "mad" if inst.has("cc") => self.mad_carry(inst, ty),
            _ => self.alu(inst, stem, ty),
        }
    }

    fn alu(&mut self, inst: &Instruction, stem: &str, ty: &str) -> Result<Op> {
        if let [_, ty, mode] = inst.parts.as_slice()
            && stem == "prmt"
        {
            // The only opcode whose mode comes after its type.
            let (name, ty) = (format!("prmt.{mode}"), ty.clone());
            return self.row(inst, alu::find(&name, &ty), &ty, Mods::default(), "such a mode is not");
        }
        let last = inst.parts.len() - 1;
        let float = matches!(ty, "f32" | "f64" | "f16" | "bf16" | "f16x2" | "bf16x2" | "f32x2");
        let middle = inst.parts.get(1..last.max(1)).unwrap_or_default();
        let kept = middle.iter().map(String::as_str).filter(|p| !(PLAIN.contains(p) || float && *p == "sat"));
        let mut name = stem.to_string();
        for part in kept {
            name.push('.');
            name.push_str(part);
        }
        // These name both their types.
        let row = match name.rsplit_once('.').filter(|_| matches!(stem, "dp4a" | "dp2a" | "slct")) {
            Some((name, first)) => alu::find(name, &format!("{first}.{ty}")),
            // Some have a row of their own with `.ftz`.
            None => inst
                .has("ftz")
                .then(|| alu::find(&format!("{name}.ftz"), ty))
                .flatten()
                .or_else(|| alu::find(&name, ty)),
        };
        let width = match ty {
            "f32" => Some(Width::Single),
            "f32x2" => Some(Width::SinglePair),
            "f16" => Some(Width::Half),
            "f16x2" => Some(Width::HalfPair),
            "bf16" => Some(Width::Brain),
            "bf16x2" => Some(Width::BrainPair),
            _ => None,
        };
        if inst.has("sat") && float && matches!(width, None | Some(Width::Brain | Width::BrainPair)) {
            return Err(Error::unsupported(inst.line, inst.opcode(), "saturation is, of f32 and f16 only"));
        }
        let flag = |word: &str| width.is_some() && inst.has(word);
        let mods = Mods { ftz: flag("ftz"), sat: flag("sat"), width: width.unwrap_or_default() };
        self.row(inst, row, ty, mods, "there is no such instruction here")
    }

    /// The operation of a row, if there is one.
    fn row(&self, inst: &Instruction, row: Option<alu::Row>, ty: &str, mods: Mods, missing: &str) -> Result<Op> {
        let Some(row) = row else {
            return Err(Error::unsupported(inst.line, inst.opcode(), missing));
        };
        if inst.operands.len() != row.arity + 1 {
            let what = format!("`{}` takes {} operands, not {}", inst.opcode(), row.arity + 1, inst.operands.len());
            return Err(Error::syntax(inst.line, what));
        }
        let mut src = [Src::Imm(0); 3];
        for (i, s) in src.iter_mut().enumerate().take(row.arity) {
            *s = self.src(inst, i + 1, ty)?;
        }
        Ok(Op::Alu { f: row.f, dst: self.dst(inst, 0)?, src, mods })
    }

    fn carry(&mut self, inst: &Instruction, stem: &str, ty: &str) -> Result<Op> {
        Ok(Op::Carry {
            dst: self.dst(inst, 0)?,
            a: self.src(inst, 1, ty)?,
            b: self.src(inst, 2, ty)?,
            bits: if ty.ends_with("64") { 64 } else { 32 },
            subtract: stem.starts_with("sub"),
            carry_in: stem.ends_with('c'),
            carry_out: inst.has("cc"),
        })
    }

    fn mad_carry(&mut self, inst: &Instruction, ty: &str) -> Result<Op> {
        let kind = MadCarry {
            bits: if ty.ends_with("64") { 64 } else { 32 },
            high: inst.has("hi"),
            signed: ty.starts_with('s'),
            carry_in: inst.parts.first().is_some_and(|p| p == "madc"),
            carry_out: inst.has("cc"),
        };
        let src = [self.src(inst, 1, ty)?, self.src(inst, 2, ty)?, self.src(inst, 3, ty)?];
        Ok(Op::MadCarry { dst: self.dst(inst, 0)?, src, kind })
    }

    fn predicate_logic(&mut self, inst: &Instruction, stem: &str) -> Result<Op> {
        let dst = self.dst_pred(inst, 0)?;
        let a = self.pred(inst, 1)?;
        if stem == "not" {
            let a = match a {
                PredSrc::Reg(r, negated) => PredSrc::Reg(r, !negated),
                PredSrc::Const(c) => PredSrc::Const(!c),
            };
            return Ok(Op::Logic { op: LogicOp::Mov, dst, a, b: a });
        }
        let Some(op) = logic(stem) else {
            return Err(Error::unsupported(inst.line, inst.opcode(), "there is no such instruction on predicates"));
        };
        let b = if op == LogicOp::Mov { a } else { self.pred(inst, 2)? };
        Ok(Op::Logic { op, dst, a, b })
    }

    fn setp(&mut self, inst: &Instruction, ty: &str) -> Result<Op> {
        let op = inst.parts.get(1).map_or("", String::as_str);
        let pair = ty.strip_suffix("x2");
        let Some(f) = compare::compare(op, pair.unwrap_or(ty)) else {
            return Err(Error::unsupported(inst.line, inst.opcode(), "no such comparison is"));
        };
        let (p, q) = self.pair(inst, 0)?;
        let combine = self.combination(inst)?;
        if pair.is_some() {
            let dst = [self.maybe_predicate(p, inst.line)?, self.maybe_predicate(q, inst.line)?];
            return Ok(Op::SetpPair { f, dst, src: [self.src(inst, 1, ty)?, self.src(inst, 2, ty)?], combine });
        }
        Ok(Op::Setp {
            f,
            dst: self.maybe_predicate(p, inst.line)?,
            inverse: self.maybe_predicate(q, inst.line)?,
            a: self.src(inst, 1, ty)?,
            b: self.src(inst, 2, ty)?,
            combine,
            ftz: inst.has("ftz") && ty == "f32",
        })
    }

    fn set(&mut self, inst: &Instruction, ty: &str) -> Result<Op> {
        let op = inst.parts.get(1).map_or("", String::as_str);
        let to = inst.parts.len().checked_sub(2).and_then(|i| inst.parts.get(i)).map_or("", String::as_str);
        let pair = ty.strip_suffix("x2");
        let one = match to {
            "u32" | "s32" if pair.is_none() => 0xFFFF_FFFF,
            "u32" | "s32" | "u16" | "s16" => 0xFFFF,
            "f32" if pair.is_none() => 0x3F80_0000,
            "f16" | "f16x2" => 0x3C00,
            "bf16" | "bf16x2" => 0x3F80,
            _ => {
                return Err(Error::unsupported(inst.line, inst.opcode(), "no such result is"));
            }
        };
        let Some(f) = compare::compare(op, pair.unwrap_or(ty)) else {
            return Err(Error::unsupported(inst.line, inst.opcode(), "no such comparison is"));
        };
        Ok(Op::Set {
            f,
            dst: self.dst(inst, 0)?,
            a: self.src(inst, 1, ty)?,
            b: self.src(inst, 2, ty)?,
            one,
            halves: pair.is_some(),
            combine: self.combination(inst)?,
            ftz: inst.has("ftz") && ty == "f32",
        })
    }

    /// The predicate that a comparison is combined with, and how.
    fn combination(&self, inst: &Instruction) -> Result<Option<(LogicOp, PredSrc)>> {
        let op = inst.parts.iter().skip(2).find_map(|p| logic(p));
        op.map(|op| Ok((op, self.pred(inst, 3)?))).transpose()
    }

    fn testp(&mut self, inst: &Instruction, ty: &str) -> Result<Op> {
        let class = match inst.parts.get(1).map_or("", String::as_str) {
            "finite" => FloatClass::Finite,
            "infinite" => FloatClass::Infinite,
            "number" => FloatClass::Number,
            "notanumber" => FloatClass::NotANumber,
            "normal" => FloatClass::Normal,
            "subnormal" => FloatClass::Subnormal,
            _ => {
                return Err(Error::unsupported(inst.line, inst.opcode(), "no such class is"));
            }
        };
        let test = FloatTest { class, wide: ty == "f64" };
        Ok(Op::PredFromTest { dst: self.dst_pred(inst, 0)?, src: self.src(inst, 1, ty)?, test })
    }

    fn mov(&mut self, inst: &Instruction, ty: &str) -> Result<Op> {
        let bits = Scalar::parse(ty).map_or(0, Scalar::bits);
        if let Operand::Vector(parts) = self.operand(inst, 0)? {
            let each = bits / parts.len().max(1) as u32;
            let dst = parts.iter().map(|p| self.dst_or_sink(p, inst.line)).collect::<Result<Vec<_>>>()?;
            if each == 0 {
                return Err(Error::unsupported(inst.line, inst.opcode(), "moves of up to 64 bits are"));
            }
            return Ok(Op::Unpack { dst, src: self.src(inst, 1, ty)?, bits: each });
        }
        if let Operand::Vector(parts) = self.operand(inst, 1)? {
            let each = bits / parts.len().max(1) as u32;
            if each == 0 {
                return Err(Error::unsupported(inst.line, inst.opcode(), "moves of up to 64 bits are"));
            }
            let part = format!("b{each}");
            return Ok(Op::Pack { dst: self.dst(inst, 0)?, src: self.values_of(inst, 1, &part)?, bits: each });
        }
        self.alu(inst, "mov", ty)
    }

    fn cvt(&mut self, inst: &Instruction) -> Result<Op> {
        let unsupported = |why: &str| Err(Error::unsupported(inst.line, inst.opcode(), why));
        let types: Vec<Scalar> = inst.parts.iter().skip(1).filter_map(|p| Scalar::parse(p)).collect();
        let [to, from] = types.as_slice() else {
            return unsupported("such types are not");
        };
        let mut conv = Conversion {
            to: *to,
            from: *from,
            round: Round::Nearest,
            integral: false,
            ftz: false,
            saturate: false,
            relu: false,
        };
        for part in inst.parts.iter().skip(1).filter(|p| Scalar::parse(p).is_none()) {
            match part.as_str() {
                "rn" => conv.round = Round::Nearest,
                "rna" => conv.round = Round::NearestAway,
                "rz" => conv.round = Round::Zero,
                "rm" => conv.round = Round::Down,
                "rp" => conv.round = Round::Up,
                "rni" => (conv.round, conv.integral) = (Round::Nearest, true),
                "rzi" => (conv.round, conv.integral) = (Round::Zero, true),
                "rmi" => (conv.round, conv.integral) = (Round::Down, true),
                "rpi" => (conv.round, conv.integral) = (Round::Up, true),
                "ftz" => conv.ftz = true,
                "sat" | "satfinite" => conv.saturate = true,
                "relu" => conv.relu = true,
                other => return unsupported(&format!("the modifier .{other} is not")),
            }
        }
        let two = to.packed() && *from == Scalar::F32;
        let first = self.src(inst, 1, "b64")?;
        let second = if two { self.src(inst, 2, "b64")? } else { Src::Imm(0) };
        Ok(Op::Cvt { conv, dst: self.dst(inst, 0)?, src: [first, second] })
    }
}
