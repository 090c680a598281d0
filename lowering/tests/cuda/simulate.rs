//! Runs launches on the simulator, as the runtime does on a GPU.

use kernel_launch::{Env, KernelLaunch, MapSwizzle, MapType, Value};
use ptx_sim::{Args, Element, GlobalMemory, Launch, Swizzle, TensorMap, Use, compile, run};

/// An operand: its bytes, or how many it will have.
pub enum Buffer {
    /// Read by the kernel.
    Input(Vec<u8>),
    /// Written by the kernel: bytes, all ones at first.
    Output(usize),
}

fn map(map: &kernel_launch::TensorMap<u64>, address: u64) -> TensorMap {
    let element = match map.dtype {
        MapType::U8 => Element::U8,
        MapType::U16 => Element::U16,
        MapType::I32 => Element::S32,
        MapType::F16 => Element::F16,
        MapType::Bf16 => Element::Bf16,
        MapType::F32 => Element::F32,
        MapType::Tf32 => Element::Tf32,
    };
    let swizzle = match map.swizzle {
        MapSwizzle::None => Swizzle::None,
        MapSwizzle::B32 => Swizzle::B32,
        MapSwizzle::B64 => Swizzle::B64,
        MapSwizzle::B128 => Swizzle::B128,
    };
    TensorMap {
        element,
        address,
        dims: map.dims.clone(),
        strides: map.strides.clone(),
        boxes: map.boxes.clone(),
        steps: vec![1; map.dims.len()],
        swizzle,
        im2col: None,
    }
}

/// An array of tensor maps, as a kernel sees it.
fn encoded(maps: &[Option<(kernel_launch::TensorMap<u64>, u64)>]) -> Vec<u8> {
    let bytes = |own: &Option<(kernel_launch::TensorMap<u64>, u64)>| match own {
        Some((tensor, address)) => map(tensor, *address).encode().unwrap().to_vec(),
        None => vec![0; 128],
    };
    maps.iter().flat_map(bytes).collect()
}

/// Runs a launch; the bytes of the outputs. Fails where the simulator finds anything.
pub fn launch(ptx: &str, launch: &KernelLaunch, dims: &[i64], sms: i64, operands: &[Buffer]) -> Vec<Vec<u8>> {
    let mut global = GlobalMemory::default();
    let program = compile(ptx, &launch.name, &mut global).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let mut addresses = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        let name = &launch.operands[i];
        addresses.push(match operand {
            Buffer::Input(bytes) => {
                let address = global.allocate(name, bytes.len() as u64, Use::Input);
                global.upload(address, bytes).unwrap();
                address
            }
            Buffer::Output(bytes) => global.allocate(name, *bytes as u64, Use::Output),
        });
    }
    let env = Env { dims, sms };
    let (bytes, zeroed) = launch.workspace_bytes(&env).unwrap();
    let workspace = if bytes == 0 { 0 } else { global.allocate("workspace", bytes, Use::InOut) };
    if zeroed > 0 {
        global.upload(workspace, &vec![0; zeroed as usize]).unwrap();
    }
    let resolved = launch.resolve(&env, &addresses, workspace).unwrap();
    if resolved.is_empty() {
        let bytes = operands.iter().filter_map(|o| if let Buffer::Output(bytes) = o { Some(*bytes) } else { None });
        return bytes.map(|bytes| vec![0; bytes]).collect();
    }
    let mut args = Args::new(&program);
    for param in &resolved.params {
        args = match param {
            Value::Bytes(bytes) => args.bytes(bytes),
            Value::Map(tensor, address) => args.map(&map(tensor, *address)),
            Value::Maps(maps) => args.bytes(&encoded(maps)),
        };
    }
    let start = Launch {
        grid: resolved.grid,
        block: launch.block,
        cluster: None,
        dynamic_shared: launch.smem_bytes,
        params: args.done().unwrap(),
        ..Launch::default()
    };
    let launched = |global: &GlobalMemory| {
        let outcome = run(&program, &start, global).unwrap_or_else(|error| panic!("{error}\n{}", save(ptx)));
        let findings: Vec<_> = outcome.findings.iter().map(|f| format!("{f:?}")).collect();
        assert!(findings.is_empty(), "{}: {}\n{}", launch.name, findings.join("\n"), save(ptx));
        let outputs = operands.iter().zip(&addresses).filter_map(|(operand, address)| match operand {
            Buffer::Input(_) => None,
            Buffer::Output(bytes) => Some(global.download(*address, *bytes).unwrap()),
        });
        outputs.collect::<Vec<_>>()
    };
    let outputs = launched(&global);
    if zeroed > 0 {
        let counters = global.download(workspace, zeroed as usize).unwrap();
        assert!(counters.iter().all(|b| *b == 0), "{}: the counters are not zero again", launch.name);
        // The next launch finds the workspace as this one has left it, and computes the same bits.
        for (operand, address) in operands.iter().zip(&addresses) {
            if let Buffer::Output(bytes) = operand {
                global.upload(*address, &vec![0xFF; *bytes]).unwrap();
            }
        }
        global.settle();
        assert!(launched(&global) == outputs, "{}: another result in a second launch", launch.name);
    }
    outputs
}

fn save(ptx: &str) -> String {
    let path = std::env::temp_dir().join(format!("aitmlir-kernel-{}.ptx", std::process::id()));
    match std::fs::write(&path, ptx) {
        Ok(()) => format!("PTX: {}", path.display()),
        Err(error) => format!("{}: {error}", path.display()),
    }
}
