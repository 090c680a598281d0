//! Matrix instructions and asynchronous copies.

use super::Decoder;
use crate::check::finding::Space;
use crate::error::{Error, Result};
use crate::exec::atomic;
use crate::program::{
    BulkDir, BulkOp, BulkType, CpAsyncOp, MatrixOp, MmaOp, Op, PredSrc, Src, WgmmaOp, WmmaMemory, WmmaOp,
};
use crate::syntax::{Instruction, Operand};
use crate::tensor::mma::{Element, MmaShape};
use crate::tensor::wgmma::WgmmaShape;
use crate::tensor::wmma::WmmaFragment;

impl Decoder<'_> {
    /// Instructions of tensor cores and copy engines.
    pub fn tensor_op(&mut self, inst: &Instruction) -> Result<Op> {
        match inst.parts.first().map_or("", String::as_str) {
            "mma" => self.mma_op(inst),
            "wmma" => self.wmma_op(inst),
            "wgmma" => self.wgmma_op(inst),
            "ldmatrix" | "stmatrix" => self.matrix_op(inst),
            "movmatrix" => Ok(Op::Movmatrix { dst: self.dst(inst, 0)?, src: self.src(inst, 1, "b32")? }),
            _ if inst.has("bulk") => self.bulk_op(inst),
            _ => self.cp_async_op(inst),
        }
    }

    fn refuse<T>(&self, inst: &Instruction, why: impl Into<String>) -> Result<T> {
        Err(Error::unsupported(inst.line, inst.opcode(), why))
    }

    fn elements_of<const N: usize>(&self, inst: &Instruction) -> Result<[Element; N]> {
        let found: Vec<Element> = inst.parts.iter().filter_map(|p| Element::parse(p)).collect();
        found.try_into().or_else(|_| self.refuse(inst, "such types are not"))
    }

    fn mma_op(&mut self, inst: &Instruction) -> Result<Op> {
        let [d, a, b, c] = self.elements_of::<4>(inst)?;
        let name = inst.parts.iter().find(|p| p.starts_with('m') && p.contains('k')).map_or("", String::as_str);
        let known = ["mma", "sync", "aligned", "row", "col", "satfinite", "rn", name];
        if let Some(p) = inst.parts.iter().find(|p| !known.contains(&p.as_str()) && Element::parse(p).is_none()) {
            return self.refuse(inst, format!("the modifier .{p} is not"));
        }
        let Some(shape) = MmaShape::find(name, [d, a, b, c]) else {
            return self.refuse(inst, "no such shape is");
        };
        let op = MmaOp {
            shape,
            d: self.registers_of(inst, 0)?,
            a: self.values_of(inst, 1, "b64")?,
            b: self.values_of(inst, 2, "b64")?,
            c: self.values_of(inst, 3, "b64")?,
            satfinite: inst.has("satfinite"),
        };
        if [op.d.len(), op.a.len(), op.b.len(), op.c.len()] != shape.registers() {
            let what = format!("`{}` takes {:?} registers of d, a, b, c", inst.opcode(), shape.registers());
            return Err(Error::syntax(inst.line, what));
        }
        Ok(Op::Mma(Box::new(op)))
    }

    fn wmma_op(&mut self, inst: &Instruction) -> Result<Op> {
        let verb = inst.parts.get(1).map_or("", String::as_str);
        let name = inst.parts.iter().find(|p| p.starts_with('m') && p.contains('k')).map_or("", String::as_str);
        let types: Vec<Element> = inst.parts.iter().filter_map(|p| Element::parse(p)).collect();
        let role = inst.parts.get(2).map_or("", String::as_str);
        if verb != "mma" {
            let fragment = types.first().and_then(|t| WmmaFragment::find(name, role, *t));
            let Some(fragment) = fragment else {
                return self.refuse(inst, "no such matrix is");
            };
            let store = verb == "store";
            let (regs, address) = if store { (1, 0) } else { (0, 1) };
            let regs = self.registers_of(inst, regs)?.into_iter().map(Src::Reg).collect::<Vec<_>>();
            self.wmma_count(inst, &fragment, regs.len())?;
            let (addr, offset) = self.address(inst, address)?;
            let stride = if inst.operands.len() > 2 { Some(self.src(inst, 2, "u32")?) } else { None };
            let space = super::memory::space(inst).unwrap_or(Space::Generic);
            let by_column = inst.has("col");
            return Ok(Op::WmmaMemory(Box::new(WmmaMemory {
                fragment,
                regs,
                store,
                by_column,
                space,
                addr,
                offset,
                stride,
            })));
        }
        // Halves name D and C alone.
        let types = match types.as_slice() {
            [d, c] => [*d, Element::F16, Element::F16, *c],
            [d, a, b, c] => [*d, *a, *b, *c],
            _ => return self.refuse(inst, "such types are not"),
        };
        let mut fragments = Vec::new();
        for (role, ty) in ["d", "a", "b", "c"].iter().zip(types) {
            match WmmaFragment::find(name, role, ty) {
                Some(f) => fragments.push(f),
                None => return self.refuse(inst, "no such shape is"),
            }
        }
        let Ok(fragments) = <[WmmaFragment; 4]>::try_from(fragments) else {
            return self.refuse(inst, "no such shape is");
        };
        let op = WmmaOp {
            fragments,
            d: self.registers_of(inst, 0)?,
            a: self.values_of(inst, 1, "b64")?,
            b: self.values_of(inst, 2, "b64")?,
            c: self.values_of(inst, 3, "b64")?,
            satfinite: inst.has("satfinite"),
        };
        for (f, count) in op.fragments.iter().zip([op.d.len(), op.a.len(), op.b.len(), op.c.len()]) {
            self.wmma_count(inst, f, count)?;
        }
        Ok(Op::Wmma(Box::new(op)))
    }

    fn wmma_count(&self, inst: &Instruction, fragment: &WmmaFragment, count: usize) -> Result<()> {
        if fragment.registers == count {
            return Ok(());
        }
        let what = format!("`{}` takes {} registers, not {count}", inst.opcode(), fragment.registers);
        Err(Error::syntax(inst.line, what))
    }

    fn matrix_op(&mut self, inst: &Instruction) -> Result<Op> {
        let store = inst.parts.first().is_some_and(|p| p == "stmatrix");
        if !inst.has("m8n8") || !inst.has("b16") {
            return self.refuse(inst, "matrices other than 8x8 of 16 bits are not");
        }
        let (regs, address) = if store { (1, 0) } else { (0, 1) };
        let regs = self.registers_of(inst, regs)?.into_iter().map(Src::Reg).collect::<Vec<_>>();
        let count = if inst.has("x4") {
            4
        } else if inst.has("x2") {
            2
        } else {
            1
        };
        if regs.len() != count {
            return Err(Error::syntax(inst.line, format!("`{}` takes {count} registers", inst.opcode())));
        }
        let (addr, offset) = self.address(inst, address)?;
        Ok(Op::Matrix(Box::new(MatrixOp { regs, trans: inst.has("trans"), store, addr, offset })))
    }

    fn wgmma_op(&mut self, inst: &Instruction) -> Result<Op> {
        match inst.parts.get(1).map_or("", String::as_str) {
            "fence" => return Ok(Op::WgmmaFence),
            "commit_group" => return Ok(Op::WgmmaCommit),
            "wait_group" => {
                return Ok(Op::WgmmaWait { pending: self.constant(inst, 0)? as u32 });
            }
            "mma_async" => {}
            _ => return self.refuse(inst, "no such operation is"),
        }
        if inst.has("sp") {
            return self.refuse(inst, "sparse matrices are not");
        }
        let name = inst.parts.iter().find(|p| p.starts_with("m64n")).map_or("", String::as_str);
        let types = self.elements_of::<3>(inst)?;
        let Some(shape) = WgmmaShape::find(name, types) else {
            return self.refuse(inst, "no such shape is");
        };
        let acc = self.registers_of(inst, 0)?;
        if acc.len() != shape.registers() {
            let what = format!("`{}` takes {} accumulators", inst.opcode(), shape.registers());
            return Err(Error::syntax(inst.line, what));
        }
        let from_registers = matches!(self.operand(inst, 1)?, Operand::Vector(_));
        let a_regs = if from_registers { self.registers_of(inst, 1)? } else { Vec::new() };
        if from_registers && a_regs.len() != 4 {
            return Err(Error::syntax(inst.line, "a fragment of A is four registers"));
        }
        let a_desc = if from_registers { Src::Imm(0) } else { self.src(inst, 1, "b64")? };
        let scale_d = if inst.operands.len() > 3 { self.pred(inst, 3)? } else { PredSrc::Const(true) };
        let flag = |i: usize| -> Result<i64> {
            if inst.operands.len() > i { Ok(self.constant(inst, i)? as i64) } else { Ok(0) }
        };
        let negate = [flag(4)? == -1, flag(5)? == -1];
        // Registers have one order only: the one flag is B's.
        let transposed = if from_registers { [false, flag(6)? == 1] } else { [flag(6)? == 1, flag(7)? == 1] };
        let b_desc = self.src(inst, 2, "b64")?;
        Ok(Op::Wgmma(Box::new(WgmmaOp { shape, acc, a_regs, a_desc, b_desc, scale_d, negate, transposed })))
    }

    fn cp_async_op(&mut self, inst: &Instruction) -> Result<Op> {
        if inst.has("commit_group") {
            return Ok(Op::CpAsyncCommit);
        }
        if inst.has("wait_group") {
            return Ok(Op::CpAsyncWait { pending: self.constant(inst, 0)? as u32 });
        }
        if inst.has("wait_all") {
            return Ok(Op::CpAsyncWait { pending: u32::MAX });
        }
        if inst.has("mbarrier") {
            let (addr, offset) = self.address(inst, 0)?;
            return Ok(Op::CpAsyncMbar { addr, offset, noinc: inst.has("noinc") });
        }
        let bytes = self.constant(inst, 2)? as u32;
        if !matches!(bytes, 4 | 8 | 16) {
            return Err(Error::syntax(inst.line, format!("`{}` copies 4, 8 or 16 bytes, not {bytes}", inst.opcode())));
        }
        let (dst, dst_offset) = self.address(inst, 0)?;
        let (src, src_offset) = self.address(inst, 1)?;
        let (mut src_bytes, mut ignore) = (None, None);
        if inst.operands.len() > 3 && !(inst.has("L2::cache_hint") && inst.operands.len() == 4) {
            match self.src(inst, 3, "u32") {
                Ok(s) => src_bytes = Some(s),
                Err(_) => ignore = Some(self.pred(inst, 3)?),
            }
        }
        Ok(Op::CpAsync(Box::new(CpAsyncOp { dst, dst_offset, src, src_offset, bytes, src_bytes, ignore })))
    }

    fn bulk_op(&mut self, inst: &Instruction) -> Result<Op> {
        if inst.has("commit_group") {
            return Ok(Op::BulkCommit);
        }
        if inst.has("wait_group") {
            return Ok(Op::BulkWait { pending: self.constant(inst, 0)? as u32, read: inst.has("read") });
        }
        let dir = self.bulk_direction(inst)?;
        let tensor = inst.has("tensor");
        let loads = matches!(dir, BulkDir::Load | BulkDir::Dsmem);
        // Loads name shared memory first, stores second; a prefetch names none.
        let (shared_at, other_at) = match dir {
            BulkDir::Prefetch => (None, 0),
            _ if loads => (Some(0), 1),
            _ => (Some(1), 0),
        };
        let (shared, shared_offset) = match shared_at {
            Some(i) => self.address(inst, i)?,
            None => (Src::Imm(0), 0),
        };
        let (other, other_offset) = self.address(inst, other_at)?;
        let mut op = BulkOp {
            dir,
            shared,
            shared_offset,
            other,
            other_offset,
            size: None,
            coords: Vec::new(),
            im2col: None,
            mbar: None,
            mbar_offset: 0,
            multicast: None,
        };
        let mut next = if dir == BulkDir::Prefetch { 1 } else { 2 };
        if tensor {
            let Some(Operand::Vector(coords)) = self.address_parts(inst, other_at)?.get(1) else {
                return Err(Error::syntax(inst.line, "a tensor copy needs coordinates"));
            };
            op.coords = coords.iter().map(|c| self.src_of(c, "s32", inst.line)).collect::<Result<_>>()?;
        } else {
            op.size = Some(self.src(inst, next, "u32")?);
            next += 1;
        }
        if loads {
            let (mbar, offset) = self.address(inst, next)?;
            (op.mbar, op.mbar_offset) = (Some(mbar), offset);
            next += 1;
        }
        if inst.parts.iter().any(|p| p.starts_with("im2col")) {
            if !inst.has("im2col") {
                return self.refuse(inst, "this im2col mode is not");
            }
            if loads {
                op.im2col = Some(self.values_of(inst, next, "u16")?);
                next += 1;
            }
        }
        if inst.has("multicast::cluster") {
            op.multicast = Some(self.src(inst, next, "u16")?);
        }
        Ok(Op::Bulk(Box::new(op)))
    }

    fn bulk_direction(&self, inst: &Instruction) -> Result<BulkDir> {
        if inst.has("prefetch") {
            return Ok(BulkDir::Prefetch);
        }
        let spaces: Vec<&str> =
            inst.parts.iter().map(String::as_str).filter(|p| *p == "global" || p.starts_with("shared::")).collect();
        match (spaces.as_slice(), inst.has("reduce")) {
            (["shared::cluster" | "shared::cta", "global"], false) => Ok(BulkDir::Load),
            (["shared::cluster", "shared::cta"], false) => Ok(BulkDir::Dsmem),
            (["global", "shared::cta"], false) => Ok(BulkDir::Store),
            (["global", "shared::cta"], true) => {
                let verbs = ["add", "min", "max", "inc", "dec", "and", "or", "xor"];
                let verb = inst.parts.iter().find(|p| verbs.contains(&p.as_str())).map_or("", String::as_str);
                let any = ["u32", "b32", "s32"].iter().find_map(|t| atomic::find(&format!("{verb}.{t}")));
                let Some(op) = any else {
                    return self.refuse(inst, "no such reduction is");
                };
                Ok(BulkDir::Reduce(op, self.bulk_type(inst)))
            }
            _ => self.refuse(inst, "no such direction is"),
        }
    }

    fn bulk_type(&self, inst: &Instruction) -> BulkType {
        match inst.parts.last().map_or("", String::as_str) {
            "f16" => BulkType::F16,
            "bf16" => BulkType::Bf16,
            "f32" => BulkType::F32,
            "f64" => BulkType::F64,
            "u32" | "b32" => BulkType::U32,
            "s32" => BulkType::S32,
            "u64" | "b64" => BulkType::U64,
            "s64" => BulkType::S64,
            _ => BulkType::OfMap,
        }
    }
}
