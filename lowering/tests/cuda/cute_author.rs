//! The builder of kernels in the cute dialect: loads of tiles that stick out of their tensors, by every atom and along both dimensions, and what it says of mistakes.

use crate::simulate::{self, Buffer};
use aitmlir_dialects::{
    builder::Builder,
    cute::author::{Built, CuteBuilder},
    new_context,
    types::Val,
};
use aitmlir_lowering::cuda::{
    chip, codegen,
    emit::{async_copy, scalar::ScalarOps, sync},
    kernel::{KernelSpec, dynamic_shared_pointer},
};
use cute_layout::atom::{Element, Side};
use kernel_launch::{Expr, Param};
use melior::ir::{Location, Module};

/// A kernel that stores the (32,64) tiles of a matrix of any size whole, with zeros beyond the matrix.
struct Pad {
    element: Element,
    atom: &'static str,
    /// Elements of one copy.
    values: i64,
    /// Are rows contiguous? Else columns are.
    inner: bool,
}

impl Pad {
    fn bytes(&self) -> i64 {
        i64::from(self.element.bits() / 8)
    }

    fn spec(&self) -> KernelSpec {
        let (m, n) = (Expr::Dim(0), Expr::Dim(1));
        let pointer = |operand| Param::Pointer { operand, offset: 0.into() };
        KernelSpec {
            dims: ["m", "n", "stride"].map(str::to_owned).to_vec(),
            operands: ["from", "to"].map(str::to_owned).to_vec(),
            params: vec![
                pointer(0),
                pointer(1),
                Param::I32(m.clone()),
                Param::I32(n.clone()),
                Param::I64(Expr::Dim(2)),
                Param::I64(n.clone().ceil_div(64) * 64),
            ],
            grid: [m.ceil_div(32), n.ceil_div(64), 1.into()],
            smem_bytes: 32 * 64 * 4,
            ..KernelSpec::new("pad")
        }
    }

    fn body<'c>(&self, b: Builder<'c>, shared: Val<'c>, args: &[Val<'c>]) -> Built<()> {
        let k = CuteBuilder::new(b);
        let (thread, row, column) = (b.sreg("tid.x"), b.sreg("ctaid.x"), b.sreg("ctaid.y"));
        let (sizes, values) = ("(?{min=0,max=4096},?{min=0,max=4096})", self.values);
        let strides =
            |inner: bool, stride: String| if inner { format!("({stride},1)") } else { format!("(1,{stride})") };
        let layout = format!("{sizes}:{}", strides(self.inner, format!("?{{i64,div={values}}}")));
        let tensor = k.global(args[0], self.element, values * self.bytes(), layout, &args[2..5])?;
        let shape = k.make("shape", sizes, &args[2..4])?;
        let (tile, coord) = ("[32:1;64:1]", "(?{min=0,max=127},?{min=0,max=63})");
        let from = k.tile(tensor, tile, coord, &[row, column])?;
        let at = k.tile(k.identity(shape)?, tile, coord, &[row, column])?;
        let stage = format!("(32,64):{}", strides(self.inner, if self.inner { "64" } else { "32" }.to_owned()));
        let stage = k.shared(shared, self.element, 128, stage)?;
        let (threads, each) = if self.inner {
            let along = 64 / values;
            (format!("({},{along}):({along},1)", 128 / along), format!("(1,{values}):(0,1)"))
        } else {
            let along = 32 / values;
            (format!("({along},{}):(1,{along})", 128 / along), format!("({values},1):(1,0)"))
        };
        let copy = k.tiled_copy(self.atom, self.element, threads, each)?;
        let (from, at) = (k.copy_part(copy, Side::Source, from, thread)?, k.copy_part(copy, Side::Source, at, thread)?);
        k.load_within(copy, from, k.copy_part(copy, Side::Destination, stage, thread)?, at, shape)?;
        async_copy::commit(b);
        async_copy::wait(b, 0);
        sync::barrier(b);
        let whole = k.global(
            args[1],
            self.element,
            self.bytes(),
            format!("{sizes}:(?{{i64}},1)"),
            &[args[2], args[3], args[5]],
        )?;
        let whole = k.tile(whole, tile, coord, &[row, column])?;
        let single = format!("universal.{}", self.element.bits());
        let store = k.tiled_copy(single, self.element, "(2,64):(64,1)", "(1,1):(0,0)")?;
        let read = k.copy_part(store, Side::Source, stage, thread)?;
        k.copy(store, read, k.copy_part(store, Side::Destination, whole, thread)?)
    }

    fn check(&self, rows: usize, columns: usize) {
        let context = new_context();
        let mut module = Module::new(Location::unknown(&context));
        let spec = self.spec();
        let mut built = Ok(());
        spec.emit(&context, &module, |b, args| built = self.body(b, dynamic_shared_pointer(b, &module), args));
        built.unwrap_or_else(|error| panic!("{}: {error}", self.atom));
        let ptx = codegen::ptx(&context, &mut module, chip::chip("sm_80").unwrap()).unwrap();
        let (bytes, values) = (self.bytes() as usize, self.values as usize);
        let (lines, run) = if self.inner { (rows, columns) } else { (columns, rows) };
        let stride = run.next_multiple_of(values);
        // Nothing of what lies between lines is zero.
        let matrix: Vec<u8> = (0..lines * stride * bytes).map(|i| (i * 7 % 251 + 1) as u8).collect();
        let (padded_rows, width) = (rows.next_multiple_of(32), columns.next_multiple_of(64));
        let operands = [Buffer::Input(matrix.clone()), Buffer::Output(padded_rows * width * bytes)];
        let dims = [rows as i64, columns as i64, stride as i64];
        let out = simulate::launch(&ptx, &spec.launch(), &dims, 4, &operands).remove(0);
        for (at, found) in out.chunks(bytes).enumerate() {
            let (i, j) = (at / width, at % width);
            let (line, step) = if self.inner { (i, j) } else { (j, i) };
            let start = (line * stride + step) * bytes;
            let zeros = vec![0; bytes];
            let expected = if i < rows && j < columns { &matrix[start..start + bytes] } else { &zeros };
            assert_eq!(found, expected, "{} ({i},{j}) of {rows}x{columns}", self.atom);
        }
    }
}

#[test]
fn loads_within_bounds_by_every_atom() {
    for (element, atom, values) in [
        (Element::U8, "universal.8", 1),
        (Element::F16, "universal.16", 1),
        (Element::F32, "universal.32", 1),
        (Element::F32, "cp.async.ca.4", 1),
        (Element::F16, "cp.async.ca.4", 2),
        (Element::F16, "cp.async.ca.8", 4),
        (Element::U8, "cp.async.cg.16", 16),
    ] {
        for inner in [true, false] {
            for (rows, columns) in [(1, 1), (33, 65), (70, 127)] {
                Pad { element, atom, values, inner }.check(rows, columns);
            }
        }
    }
}

/// A kernel of one thread a pair of columns that reverses the rows of a matrix: elements at coordinates that are computed, and a copy by an atom alone.
fn reverse<'c>(b: Builder<'c>, args: &[Val<'c>]) -> Built<()> {
    let k = CuteBuilder::new(b);
    let (row, thread) = (b.sreg("ctaid.x"), b.sreg("tid.x"));
    let sizes = "(?{min=0,max=4096},?{min=0,max=4096})";
    let from = k.global(args[0], Element::F16, 2, format!("{sizes}:(?{{i64}},1)"), &args[2..5])?;
    let to = k.global(args[1], Element::F16, 4, format!("{sizes}:(?{{i64,div=2}},1)"), &args[2..5])?;
    k.when(b.cmpi("slt", b.mul_c(thread, 2), args[3]), |k| {
        let b = k.builder();
        let at = "(?{min=0,max=4095},?{min=0,max=2047})";
        let pair = k.tile(to, "[1:1;2:1]", at, &[row, thread])?;
        let pair = k.slice(pair, "(0,_)", &[])?;
        let both = k.fragment_like(pair, Element::F16)?;
        for i in 0..2 {
            let column = b.subi(b.subi(args[3], b.c32(1 + i)), b.mul_c(thread, 2));
            let value = k.load_at(from, "(?{min=0,max=4095},?{min=0,max=4095})", &[row, column])?;
            k.store(value, both, format!("({i})"))?;
        }
        k.copy(k.atom("universal.32", Element::F16)?, both, pair)
    })
}

#[test]
fn elements_at_computed_coordinates_and_copies_by_an_atom() {
    let (m, n) = (Expr::Dim(0), Expr::Dim(1));
    let pointer = |operand| Param::Pointer { operand, offset: 0.into() };
    let spec = KernelSpec {
        dims: ["m", "n"].map(str::to_owned).to_vec(),
        operands: ["from", "to"].map(str::to_owned).to_vec(),
        params: vec![pointer(0), pointer(1), Param::I32(m.clone()), Param::I32(n.clone()), Param::I64(n)],
        grid: [m, 1.into(), 1.into()],
        ..KernelSpec::new("reverse")
    };
    for (rows, columns) in [(1, 2), (3, 70), (5, 256)] {
        let context = new_context();
        let mut module = Module::new(Location::unknown(&context));
        let mut built = Ok(());
        spec.emit(&context, &module, |b, args| built = reverse(b, args));
        built.unwrap();
        let ptx = codegen::ptx(&context, &mut module, chip::chip("sm_80").unwrap()).unwrap();
        let matrix: Vec<u8> = (0..rows * columns * 2).map(|i| (i * 7 % 251 + 1) as u8).collect();
        let operands = [Buffer::Input(matrix.clone()), Buffer::Output(matrix.len())];
        let out = simulate::launch(&ptx, &spec.launch(), &[rows as i64, columns as i64], 4, &operands).remove(0);
        let reversed = |row: &[u8]| row.chunks(2).rev().flatten().copied().collect::<Vec<u8>>();
        let expected: Vec<u8> = matrix.chunks(2 * columns).flat_map(reversed).collect();
        assert_eq!(out, expected, "{rows}x{columns}");
    }
}

#[test]
fn mistakes_are_told_where_they_are_made() {
    let context = new_context();
    let module = Module::new(Location::unknown(&context));
    KernelSpec::new("mistakes").emit(&context, &module, |b, _| {
        let k = CuteBuilder::new(b);
        let say = |error: Option<aitmlir_dialects::cute::author::BuildError>| {
            error.map(|e| e.to_string()).unwrap_or_default()
        };
        let found = say(k.layout("(?,4):(1,?{i64})", &[b.c32(8), b.c32(8)]).err());
        assert_eq!(found, "cute.make_stride C2: operand 0 becomes the leaf ?{i64}, which is an i64, got i32");
        let found = say(k.tiled_copy("cp.async.cg.16", Element::F16, "(16,8):(8,1)", "(1,4):(0,1)").err());
        assert!(found.starts_with("cute.make_tiled_copy tiled_copy: "), "{found}");
        let found = say(k.atom("universal.7", Element::F16).err());
        assert!(found.contains("universal.7"), "{found}");
        let fragment = k.layout("(8,4):(1,8)", &[]).and_then(|_| k.make("shape", "(8,", &[]));
        assert!(say(fragment.err()).starts_with("cute.make_shape "));
    });
}
