//! Functions of kernels, and the launches that fit them.
//!
//! A [`KernelSpec`] lists the parameters once, each with the type that the function sees and the value that the launch gives; so the two
//! cannot disagree. [`KernelSpec::emit`] makes the function, [`KernelSpec::launch`] the data that the runtime follows.

use aitmlir_dialects::{
    builder::{Builder, block_arguments},
    types::{Blk, Types, Val},
};
use kernel_launch::{Expr, KernelLaunch, Param, Workspace};
use melior::{
    Context,
    ir::{
        Attribute, Block, BlockLike, BlockRef, Location, Module, Region, RegionLike, Type, TypeLike,
        attribute::{ArrayAttribute, TypeAttribute},
    },
};

/// Bytes at the beginning of the workspace that are for counters, which kernels leave at zero. The kernels of a model share the workspace: where one
/// has counters no other may have anything else.
pub const COUNTER_BYTES: i64 = 16_384;

/// A kernel's name, parameters and sizes.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// The symbol; unique in a module.
    pub name: String,
    /// Names of the run-time integers that the formulas use.
    pub dims: Vec<String>,
    /// Names of the operands that the parameters use.
    pub operands: Vec<String>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// CTAs of the grid.
    pub grid: [Expr; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
    /// CTAs that should fit a multiprocessor: a bound for registers.
    pub min_ctas: u32,
    /// Bytes of dynamic shared memory.
    pub smem_bytes: u32,
    /// What operands' addresses must be multiples of; 0 for anything.
    pub alignment: u64,
    /// It may begin while kernels before it in the stream run, and waits for them by itself.
    pub overlaps: bool,
    /// Device memory it needs.
    pub workspace: Option<Workspace>,
}

impl KernelSpec {
    /// A kernel of one CTA of 128 threads without parameters: the rest is filled in by `..`.
    pub fn new(name: impl Into<String>) -> Self {
        KernelSpec {
            name: name.into(),
            dims: vec![],
            operands: vec![],
            params: vec![],
            grid: [1.into(), 1.into(), 1.into()],
            block: [128, 1, 1],
            cluster: [1; 3],
            min_ctas: 1,
            smem_bytes: 0,
            alignment: 0,
            overlaps: false,
            workspace: None,
        }
    }

    /// How to start it.
    pub fn launch(&self) -> KernelLaunch {
        KernelLaunch {
            name: self.name.clone(),
            dims: self.dims.clone(),
            operands: self.operands.clone(),
            grid: self.grid.clone(),
            block: self.block,
            cluster: self.cluster,
            smem_bytes: self.smem_bytes,
            params: self.params.clone(),
            workspace: self.workspace.clone(),
            overlaps: self.overlaps,
            when: None,
            alignment: self.alignment,
            otherwise: None,
        }
    }

    /// Appends the function to a module of kernels. `fill` emits its body from the parameters: pointers are `!llvm.ptr<1>`, tensor maps and
    /// arrays `!llvm.ptr`; the return is emitted here.
    pub fn emit<'c>(&self, context: &'c Context, module: &Module<'c>, fill: impl FnOnce(Builder<'c>, &[Val<'c>])) {
        // SAFETY: the module owns its body and outlives what is built here.
        let body: Blk<'c> = unsafe { BlockRef::from_raw(module.body().to_raw()) };
        let b = Builder::at_end(context, body, Location::name(context, &self.name, Location::unknown(context)));
        let types: Vec<Type<'c>> = self.params.iter().map(|param| param_type(b, param)).collect();
        let region = Region::new();
        let arguments: Vec<_> = types.iter().map(|t| (*t, b.location())).collect();
        let entry = region.append_block(Block::new(&arguments));
        // SAFETY: the region owns the block, and the function that gets the region outlives the handle's use.
        let entry: Blk<'c> = unsafe { BlockRef::from_raw(entry.to_raw()) };
        let inner = Builder::at_end(context, entry, b.location());
        fill(inner, &block_arguments(entry));
        inner.op("llvm.return", &[], &[], &[], vec![]);
        self.function(b, &types, region);
    }

    fn function<'c>(&self, b: Builder<'c>, types: &[Type<'c>], body: Region<'c>) {
        let argument_attrs: Vec<Attribute<'c>> = self.params.iter().map(|param| param_attributes(b, param)).collect();
        let block = self.block.map(|n| n as i32);
        let mut attributes = vec![
            ("sym_name", b.str_attr(&self.name)),
            ("function_type", TypeAttribute::new(function_type(b, types)).into()),
            ("linkage", b.parse_attr("#llvm.linkage<external>")),
            ("CConv", b.parse_attr("#llvm.cconv<ccc>")),
            ("arg_attrs", ArrayAttribute::new(b.context(), &argument_attrs).into()),
            ("nvvm.kernel", b.unit_attr()),
            ("nvvm.reqntid", b.i32s_attr(&block)),
            ("nvvm.minctasm", b.i32_attr(self.min_ctas as i32)),
        ];
        if self.cluster != [1; 3] {
            attributes.push(("nvvm.cluster_dim", b.i32s_attr(&self.cluster.map(|n| n as i32))));
        }
        b.op("llvm.func", &[], &[], &attributes, vec![body]);
    }
}

fn function_type<'c>(b: Builder<'c>, types: &[Type<'c>]) -> Type<'c> {
    // SAFETY: a live context and valid types.
    unsafe {
        let raw: Vec<_> = types.iter().map(|t| t.to_raw()).collect();
        let void = mlir_sys::mlirLLVMVoidTypeGet(b.context().to_raw());
        Type::from_raw(mlir_sys::mlirLLVMFunctionTypeGet(void, raw.len() as isize, raw.as_ptr(), false))
    }
}

fn param_type<'c>(b: Builder<'c>, param: &Param) -> Type<'c> {
    match param {
        Param::Pointer { .. } | Param::Workspace { .. } => b.parse_type("!llvm.ptr<1>"),
        Param::Map(_) | Param::Each(_) => b.parse_type("!llvm.ptr"),
        Param::I32(_) => b.context().int_type(32),
        Param::I64(_) => b.context().int_type(64),
        Param::F32(_) => b.context().f32_type(),
    }
}

fn param_attributes<'c>(b: Builder<'c>, param: &Param) -> Attribute<'c> {
    match param {
        // Without grid_constant LLVM would copy the map to the stack and pass that address.
        Param::Map(_) | Param::Each(_) => b.parse_attr(&format!(
            "{{llvm.byval = !llvm.array<{} x i8>, llvm.align = 64 : i64, llvm.readonly, nvvm.grid_constant}}",
            param.bytes()
        )),
        _ => b.parse_attr("{}"),
    }
}

/// The dynamic shared memory of the module's kernels, an `!llvm.ptr<3>` to a multiple of 1024. Declares it at first use.
pub fn dynamic_shared_pointer<'c>(b: Builder<'c>, module: &Module<'c>) -> Val<'c> {
    const NAME: &str = "aitmlir_shared";
    // SAFETY: the module owns its body and outlives what is built here.
    let body: Blk<'c> = unsafe { BlockRef::from_raw(module.body().to_raw()) };
    let name = b.str_attr(NAME);
    let declared = aitmlir_dialects::builder::operations_of(body).iter().any(|op| {
        use melior::ir::operation::OperationLike;
        op.attribute("sym_name").is_ok_and(|attribute| attribute == name)
    });
    if !declared {
        let attributes = [
            ("sym_name", name),
            ("global_type", b.type_attr(b.parse_type("!llvm.array<0 x i8>"))),
            ("linkage", b.parse_attr("#llvm.linkage<external>")),
            ("addr_space", b.i32_attr(3)),
            ("alignment", b.i64_attr(1024)),
        ];
        let top = Builder::at_end(b.context(), body, b.location());
        top.op("llvm.mlir.global", &[], &[], &attributes, vec![Region::new()]);
    }
    let symbol = melior::ir::attribute::FlatSymbolRefAttribute::new(b.context(), NAME).into();
    b.op1("llvm.mlir.addressof", &[], b.parse_type("!llvm.ptr<3>"), &[("global_name", symbol)])
}
