//! `aitmlir_rt_launch` of an exported kernel in LLVM IR: what [`KernelLaunch::choose`] and [`KernelLaunch::resolve`] compute, for this one
//! launch.

use super::checks::{BEYOND, DRIVER, NO_VARIANT, NO_WORKSPACE};
use super::glue::{QUERY, RUN_MODULE, SMS, STATUS, STREAM, WORKSPACE, call_driver, variant_word};
use super::ir::Function;
use kernel_launch::{Expr, KernelLaunch, MapSwizzle, MapType, Param, TensorMap};

/// The largest grid.
const GRID: [i64; 3] = [0x7FFF_FFFF, 65_535, 65_535];

/// Values that all variants use.
struct Known {
    operands: Vec<String>,
    dims: Vec<String>,
    sms: String,
}

/// The function, and those that it calls.
pub(super) fn text(launch: &KernelLaunch) -> String {
    let mut f = Function::new(
        "void @aitmlir_rt_launch(ptr %run, i64 %kernel, ptr %operands, i64 %operand_count, ptr %dims, i64 %dim_count)",
    );
    let status = f.load("i64", "%run", STATUS);
    let bad = f.value(format!("icmp ne i64 {status}, 0"));
    f.leave_if(&bad, "out");
    let module = f.load("ptr", "%run", RUN_MODULE);
    f.line(format!("%module = getelementptr i8, ptr {module}, i64 0"));
    let known = Known {
        operands: (0..launch.operands.len()).map(|i| f.load("i64", "%operands", i)).collect(),
        dims: (0..launch.dims.len()).map(|i| f.load("i64", "%dims", i)).collect(),
        sms: f.load("i64", "%module", SMS),
    };
    let query = f.load("ptr", "%run", QUERY);
    let asks = f.value(format!("icmp ne ptr {query}, null"));
    f.leave_if(&asks, "ask");
    for (i, variant) in launch.variants().enumerate() {
        let next = f.label();
        choose(&mut f, variant, &known, &next);
        emit(&mut f, variant, i, &known);
        f.begin(&next);
    }
    fail(&mut f, NO_VARIANT);
    f.begin("ask");
    workspace_bytes(&mut f, launch, &known, &query);
    f.begin("beyond");
    fail(&mut f, BEYOND);
    f.begin("no_workspace");
    fail(&mut f, NO_WORKSPACE);
    f.begin("out");
    f.line("ret void");
    f.end() + &started()
}

fn fail(f: &mut Function, status: i32) {
    f.store("i64", &status.to_string(), "%run", STATUS);
    f.line("br label %out");
}

/// Goes to `next` where the variant is not for this launch.
fn choose(f: &mut Function, variant: &KernelLaunch, known: &Known, next: &str) {
    if variant.alignment > 1 {
        for operand in &known.operands {
            let rest = f.value(format!("urem i64 {operand}, {}", variant.alignment));
            let bad = f.value(format!("icmp ne i64 {rest}, 0"));
            f.leave_if(&bad, next);
        }
    }
    if let Some(when) = &variant.when {
        let holds = f.formula(when, &known.dims, &known.sms);
        let bad = f.value(format!("icmp eq i64 {holds}, 0"));
        f.leave_if(&bad, next);
    }
}

fn in_range(f: &mut Function, value: &str, low: i64, high: i64) {
    if let Ok(value) = value.parse::<i64>()
        && (low..=high).contains(&value)
    {
        return;
    }
    let good = f.within(value, low, high);
    let bad = f.value(format!("xor i1 {good}, true"));
    f.leave_if(&bad, "beyond");
}

/// Starts a variant.
fn emit(f: &mut Function, variant: &KernelLaunch, number: usize, known: &Known) {
    let formula = |f: &mut Function, e: &Expr| f.formula(e, &known.dims, &known.sms);
    let mut grid = Vec::new();
    for (formula_of, most) in variant.grid.iter().zip(GRID) {
        let value = formula(f, formula_of);
        in_range(f, &value, 0, most);
        let empty = f.value(format!("icmp eq i64 {value}, 0"));
        f.leave_if(&empty, "out");
        grid.push(f.value(format!("trunc i64 {value} to i32")));
    }
    let workspace = f.load("i64", "%run", WORKSPACE);
    if variant.workspace.is_some() {
        let null = f.value(format!("icmp eq i64 {workspace}, 0"));
        f.leave_if(&null, "no_workspace");
        let rest = f.value(format!("and i64 {workspace}, 255"));
        let bad = f.value(format!("icmp ne i64 {rest}, 0"));
        f.leave_if(&bad, "no_workspace");
    }
    let params = f.value(format!("alloca [{} x ptr], align 8", variant.params.len().max(1)));
    for (i, param) in variant.params.iter().enumerate() {
        let at = match param {
            Param::Map(map) => {
                let to = f.value("alloca [128 x i8], align 64");
                tensor_map(f, map, known, &to);
                to
            }
            Param::Each(list) => each(f, list, known, &workspace),
            scalar => {
                let value = scalar_value(f, scalar, known, &workspace);
                word(f, &value)
            }
        };
        f.store("ptr", &at, &params, i);
    }
    let function = f.load("ptr", "%module", variant_word(number));
    let stream = f.load("ptr", "%run", STREAM);
    let sizes = |sizes: &[u32; 3]| sizes.map(|n| format!("i32 {n}")).join(", ");
    let grid = grid.iter().map(|n| format!("i32 {n}")).collect::<Vec<_>>().join(", ");
    let (block, shared) = (sizes(&variant.block), variant.smem_bytes);
    let status = if variant.cluster == [1; 3] {
        let arguments = format!("ptr {function}, {grid}, {block}, i32 {shared}, ptr {stream}, ptr {params}, ptr null");
        call_driver(f, "%module", "cuLaunchKernel", &arguments)
    } else {
        clustered(f, &grid, variant, (&function, &stream, &params))
    };
    f.line(format!("call void @aitmlir_started(ptr %run, i32 {status})"));
    f.line("br label %out");
}

/// The value of a parameter that is not a tensor map, as an i64.
fn scalar_value(f: &mut Function, param: &Param, known: &Known, workspace: &str) -> String {
    let formula = |f: &mut Function, e: &Expr| f.formula(e, &known.dims, &known.sms);
    match param {
        Param::F32(value) => value.to_bits().to_string(),
        Param::I32(value) => {
            let value = formula(f, value);
            in_range(f, &value, i32::MIN.into(), i32::MAX.into());
            value
        }
        Param::I64(value) => formula(f, value),
        Param::Pointer { operand, offset } => {
            let offset = formula(f, offset);
            f.value(format!("add i64 {}, {offset}", known.operands[*operand as usize]))
        }
        Param::Workspace { offset } => {
            let offset = formula(f, offset);
            f.value(format!("add i64 {workspace}, {offset}"))
        }
        // Callers have told these apart.
        Param::Map(_) | Param::Each(_) => "0".to_owned(),
    }
}

/// An array of parameters in memory.
fn each(f: &mut Function, list: &[Param], known: &Known, workspace: &str) -> String {
    let bytes: u64 = list.iter().map(Param::bytes).sum();
    let to = f.value(format!("alloca [{bytes} x i8], align 64"));
    f.line(format!("store [{bytes} x i8] zeroinitializer, ptr {to}"));
    for (i, param) in list.iter().enumerate() {
        let at = byte(f, &to, i * param.bytes() as usize);
        match param {
            Param::Map(map) => {
                // An empty tensor has no map: see `Param::Each`.
                let next = f.label();
                for dim in &map.dims {
                    let size = f.formula(dim, &known.dims, &known.sms);
                    let empty = f.value(format!("icmp eq i64 {size}, 0"));
                    f.leave_if(&empty, &next);
                }
                tensor_map(f, map, known, &at);
                f.line(format!("br label %{next}"));
                f.begin(&next);
            }
            scalar => {
                let value = scalar_value(f, scalar, known, workspace);
                let bits = 8 * scalar.bytes();
                let value = if bits < 64 { f.value(format!("trunc i64 {value} to i{bits}")) } else { value };
                f.line(format!("store i{bits} {value}, ptr {at}"));
            }
        }
    }
    to
}

/// Keeps the status of a driver's call.
fn started() -> String {
    let mut f = Function::new("void @aitmlir_started(ptr %run, i32 %status)");
    let good = f.value("icmp eq i32 %status, 0");
    f.leave_if(&good, "out");
    let status = f.value(format!("add i32 %status, {DRIVER}"));
    let status = f.value(format!("zext i32 {status} to i64"));
    f.store("i64", &status, "%run", STATUS);
    f.line("br label %out");
    f.begin("out");
    f.line("ret void");
    f.end()
}

/// A parameter of at most 8 bytes in memory.
fn word(f: &mut Function, value: &str) -> String {
    let at = f.value("alloca i64, align 8");
    f.line(format!("store i64 {value}, ptr {at}"));
    at
}

fn byte(f: &mut Function, base: &str, offset: usize) -> String {
    f.value(format!("getelementptr i8, ptr {base}, i64 {offset}"))
}

/// A launch of clusters: CUlaunchConfig of 56 bytes, CUlaunchAttribute of 72.
fn clustered(
    f: &mut Function,
    grid: &str,
    variant: &KernelLaunch,
    (function, stream, params): (&str, &str, &str),
) -> String {
    let config = f.value("alloca [56 x i8], align 8");
    let attribute = f.value("alloca [72 x i8], align 8");
    f.line(format!("store [72 x i8] zeroinitializer, ptr {attribute}"));
    f.line(format!("store [56 x i8] zeroinitializer, ptr {config}"));
    // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    f.line(format!("store i32 4, ptr {attribute}"));
    for (i, size) in variant.cluster.iter().enumerate() {
        let at = byte(f, &attribute, 8 + 4 * i);
        f.line(format!("store i32 {size}, ptr {at}"));
    }
    let block = variant.block.map(|n| format!("i32 {n}")).join(", ");
    let values = format!("{grid}, {block}, i32 {}", variant.smem_bytes);
    for (i, value) in values.split(", ").enumerate() {
        let at = byte(f, &config, 4 * i);
        f.line(format!("store {value}, ptr {at}"));
    }
    for (offset, value) in [(32, format!("ptr {stream}")), (40, format!("ptr {attribute}")), (48, "i32 1".into())] {
        let at = byte(f, &config, offset);
        f.line(format!("store {value}, ptr {at}"));
    }
    call_driver(f, "%module", "cuLaunchKernelEx", &format!("ptr {config}, ptr {function}, ptr {params}, ptr null"))
}

/// Encodes a tensor map into the 128 bytes at `to`.
fn tensor_map(f: &mut Function, map: &TensorMap, known: &Known, to: &str) {
    let rank = map.dims.len();
    let dims = f.value(format!("alloca [{rank} x i64], align 8"));
    let strides = f.value(format!("alloca [{rank} x i64], align 8"));
    let boxes = f.value(format!("alloca [{rank} x i32], align 4"));
    let steps = f.value(format!("alloca [{rank} x i32], align 4"));
    for (i, dim) in map.dims.iter().enumerate() {
        let value = f.formula(dim, &known.dims, &known.sms);
        in_range(f, &value, 1, 1 << 32);
        f.store("i64", &value, &dims, i);
    }
    for (i, stride) in map.strides.iter().enumerate() {
        let value = f.formula(stride, &known.dims, &known.sms);
        in_range(f, &value, 0, (1 << 40) - 1);
        let rest = f.value(format!("and i64 {value}, 15"));
        let bad = f.value(format!("icmp ne i64 {rest}, 0"));
        f.leave_if(&bad, "beyond");
        f.store("i64", &value, &strides, i);
    }
    for (i, size) in map.boxes.iter().enumerate() {
        for (array, value) in [(&boxes, *size), (&steps, 1)] {
            let at = byte(f, array, 4 * i);
            f.line(format!("store i32 {value}, ptr {at}"));
        }
    }
    let offset = f.formula(&map.offset, &known.dims, &known.sms);
    let address = f.value(format!("add i64 {}, {offset}", known.operands[map.operand as usize]));
    let address = f.value(format!("inttoptr i64 {address} to ptr"));
    // CUtensorMapDataType
    let dtype = match map.dtype {
        MapType::U8 => 0,
        MapType::U16 => 1,
        MapType::I32 => 3,
        MapType::F16 => 6,
        MapType::F32 => 7,
        MapType::Bf16 => 9,
        MapType::Tf32 => 11,
    };
    let swizzle = match map.swizzle {
        MapSwizzle::None => 0,
        MapSwizzle::B32 => 1,
        MapSwizzle::B64 => 2,
        MapSwizzle::B128 => 3,
    };
    // No interleaving, 128 bytes at a time into the L2, zeros out of bounds.
    let arguments = format!(
        "ptr {to}, i32 {dtype}, i32 {rank}, ptr {address}, ptr {dims}, ptr {strides}, ptr {boxes}, ptr {steps}, i32 0, \
         i32 {swizzle}, i32 2, i32 0"
    );
    let status = call_driver(f, "%module", "cuTensorMapEncodeTiled", &arguments);
    f.line(format!("call void @aitmlir_started(ptr %run, i32 {status})"));
    let bad = f.value(format!("icmp ne i32 {status}, 0"));
    f.leave_if(&bad, "out");
}

/// The most that any variant for these sizes needs: which one it will be may depend on addresses.
fn workspace_bytes(f: &mut Function, launch: &KernelLaunch, known: &Known, to: &str) {
    let mut most = "0".to_owned();
    for variant in launch.variants() {
        let Some(workspace) = &variant.workspace else { continue };
        let bytes = f.formula(&workspace.bytes, &known.dims, &known.sms);
        let bytes = match &variant.when {
            Some(when) => {
                let holds = f.formula(when, &known.dims, &known.sms);
                let holds = f.value(format!("icmp ne i64 {holds}, 0"));
                f.value(format!("select i1 {holds}, i64 {bytes}, i64 0"))
            }
            None => bytes,
        };
        most = f.value(format!("call i64 @llvm.smax.i64(i64 {most}, i64 {bytes})"));
    }
    f.line(format!("store i64 {most}, ptr {to}"));
    f.line("br label %out");
}
