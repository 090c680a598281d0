//! A model made of the hand-written program `affine.c`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use aitmlir_driver::package::{Artifacts, DeviceCode, Package, WeightsPlace, package};
use aitmlir_runtime::info::{
    ABI_VERSION, ConstantInfo, DType, Dim, DimExpr, DynamicDim, MemoryReport, ModelInfo, Site, TensorInfo, Weights,
};

/// The compiled program.
pub fn program() -> &'static [u8] {
    static OBJECT: OnceLock<Vec<u8>> = OnceLock::new();
    OBJECT.get_or_init(|| {
        let dir = tempfile::tempdir().expect("folder");
        let object = dir.path().join("affine.o");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/affine.c");
        let mut cc = Command::new("cc");
        cc.args(["-c", "-O2", "-fPIC", "-fexceptions", "-Wall", "-Werror", "-o"]).arg(&object).arg(source);
        assert!(cc.status().expect("cc").success());
        std::fs::read(object).expect("object")
    })
}

/// The description of the program.
pub fn info(name: &str) -> ModelInfo {
    let rows = |expr| {
        Dim::Dynamic(DynamicDim { name: Some("n".into()), min: 1, max: Some(64), expr, ..DynamicDim::default() })
    };
    let constant = |name: &str, derived| ConstantInfo {
        name: name.into(),
        dtype: DType::F32,
        dims: vec![4],
        bytes: 16,
        offset: 0,
        derived,
    };
    let count = DynamicDim {
        bound: Some(DimExpr::Mul(Box::new(DimExpr::Const(4)), Box::new(DimExpr::Input(0, 0)))),
        ..DynamicDim::default()
    };
    let tensor = |name: &str, dims| TensorInfo { name: name.into(), dtype: DType::F32, dims };
    ModelInfo {
        abi: ABI_VERSION,
        compiler: "aitmlir test".into(),
        target: "cpu".into(),
        cpu_features: Vec::new(),
        name: name.into(),
        inputs: vec![tensor("x", vec![rows(None), Dim::Static(4)])],
        outputs: vec![
            tensor("y", vec![rows(Some(DimExpr::Input(0, 0))), Dim::Static(4)]),
            tensor("positive", vec![Dim::Dynamic(count)]),
        ],
        constants: vec![constant("scale", false), constant("bias", false), constant("scale squared", true)],
        weights: Weights::Embedded { bytes: 0 },
        memory: MemoryReport { arena: Some(1024), lower_bound: Some(1024), naive: Some(2048) },
        sites: vec![Site { node: "rows".into(), op: "Gather".into(), what: "index".into() }],
        device: None,
        metadata: Default::default(),
    }
}

/// Packages the program as `output`, with `scale` in all elements of its constant.
pub fn make(output: &Path, name: &str, scale: f32, place: WeightsPlace) -> Artifacts {
    let scale = bytes(&[scale; 4]);
    let bias = bytes(&[1.0, 2.0, 3.0, 4.0]);
    package(Package {
        program: program(),
        device: &DeviceCode::default(),
        info: info(name),
        constants: &[&scale, &bias, &[]],
        weights: place,
        output,
    })
    .expect("package")
}

/// The bytes of floats.
pub fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A path in a folder.
pub fn at(dir: &tempfile::TempDir, name: &str) -> PathBuf {
    dir.path().join(name)
}
