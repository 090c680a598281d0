//! The road from kernel IR to PTX and cubin.

use aitmlir_dialects::new_context;
use aitmlir_lowering::cuda::{
    chip, codegen,
    emit::{memory, scalar::ScalarOps},
    kernel::KernelSpec,
    ptxas::Ptxas,
};
use kernel_launch::{Expr, Param};
use melior::ir::{Location, Module};
use std::path::PathBuf;

/// The repository's own ptxas, else the one that the user has.
pub fn ptxas() -> Ptxas {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nvidia-cuda-nvcc/nvidia/cu13/bin/ptxas");
    Ptxas::find(own.is_file().then_some(own.as_path())).unwrap()
}

fn scale_spec() -> KernelSpec {
    KernelSpec {
        dims: vec!["n".to_owned()],
        operands: vec!["x".to_owned()],
        params: vec![Param::Pointer { operand: 0, offset: 0.into() }, Param::I32(Expr::Dim(0)), Param::F32(2.0)],
        grid: [Expr::Dim(0).ceil_div(128), 1.into(), 1.into()],
        ..KernelSpec::new("scale")
    }
}

#[test]
fn a_kernel_becomes_ptx_and_a_cubin_for_every_chip() {
    let context = new_context();
    for chip in chip::CHIPS {
        let mut module = Module::new(Location::unknown(&context));
        scale_spec().emit(&context, &module, |b, args| {
            let i = b.addi(b.muli(b.sreg("ctaid.x"), b.sreg("ntid.x")), b.sreg("tid.x"));
            b.when(b.cmpi("slt", i, args[1]), |b| {
                let place = memory::offset(b, args[0], b.wide(b.mul_c(i, 4)));
                let value = memory::load(b, place, args[2].r#type());
                memory::store(b, place, b.mulf(value, args[2]));
            });
        });
        let text = codegen::ptx(&context, &mut module, chip).unwrap();
        assert!(text.contains(&format!(".target {}", chip.name)), "{text}");
        assert!(text.contains(".visible .entry scale") && text.contains(".reqntid 128"), "{text}");
        let assembled = ptxas().assemble(&text, chip).unwrap();
        assert_eq!(assembled.kernels.len(), 1);
        assert_eq!(assembled.kernels[0].name, "scale");
        assert!(assembled.kernels[0].registers > 0 && !assembled.kernels[0].spills());
        assert!(assembled.cubin.starts_with(b"\x7fELF"));
    }
}

#[test]
fn what_ptxas_refuses_is_an_error() {
    let error = ptxas().assemble(".version 8.6\n.target sm_90a\nnonsense", &chip::CHIPS[1]).unwrap_err();
    assert!(error.to_string().starts_with("ptxas refused"), "{error}");
}

use melior::ir::ValueLike;
