//! How a GPU kernel is started, as plain data that serialises.
//!
//! A [`KernelLaunch`] names the kernel and gives formulas ([`Expr`]) over the launch's run-time integers for everything that depends
//! on them. [`KernelLaunch::resolve`] computes one launch: numbers, bytes of parameters, and tensor maps with addresses, for
//! the CUDA driver or the simulator to encode.

mod expr;

pub use expr::{Env, Expr};
use serde::{Deserialize, Serialize};

/// Why a launch could not be computed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LaunchError {
    /// A formula names a dimension that the caller did not give.
    #[error("dimension {index} is used, but {given} are given")]
    MissingDim {
        /// Its index.
        index: u32,
        /// Dimensions given.
        given: usize,
    },
    /// A formula overflowed or divided by zero.
    #[error("{formula} of {a} and {b} has no value")]
    Arithmetic {
        /// The formula.
        formula: String,
        /// Its left value.
        a: i64,
        /// Its right value.
        b: i64,
    },
    /// A parameter names an operand that the caller did not give.
    #[error("operand {index} is used, but {given} are given")]
    MissingOperand {
        /// Its index.
        index: u32,
        /// Operands given.
        given: usize,
    },
    /// No variant of a kernel is for these sizes and addresses.
    #[error("no variant of `{kernel}` is for these sizes and addresses")]
    NoVariant {
        /// The first variant's symbol.
        kernel: String,
    },
    /// An array of parameters holds tensor maps beside others.
    #[error("an array of parameters holds tensor maps beside others")]
    Mixed,
    /// A value that the hardware cannot take.
    #[error("{what} is {value}, which is not in {low}..={high}")]
    Range {
        /// What it is.
        what: String,
        /// Its value.
        value: i64,
        /// The least possible.
        low: i64,
        /// The greatest possible.
        high: i64,
    },
}

/// Element types of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the names say it
pub enum MapType {
    U8,
    U16,
    I32,
    F16,
    Bf16,
    F32,
    Tf32,
}

impl MapType {
    /// Bytes of one element.
    pub fn bytes(self) -> i64 {
        match self {
            MapType::U8 => 1,
            MapType::U16 | MapType::F16 | MapType::Bf16 => 2,
            MapType::I32 | MapType::F32 | MapType::Tf32 => 4,
        }
    }
}

/// How 16-byte pieces of shared memory change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MapSwizzle {
    /// They stay.
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

/// A tensor map (tiled; out of bounds reads give zeros): what TMA needs to know of one operand. `D` is the type of its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorMap<D = Expr> {
    /// The operand whose memory it describes.
    pub operand: u32,
    /// Bytes from the operand's address to the tensor's first element; a multiple of 16.
    pub offset: D,
    /// Element type.
    pub dtype: MapType,
    /// Dimensions, innermost first; 1 to 5. The innermost has stride 1.
    pub dims: Vec<D>,
    /// Byte strides of all dimensions but the innermost; multiples of 16.
    pub strides: Vec<D>,
    /// Elements of a box in each dimension, 1 to 256.
    pub boxes: Vec<u32>,
    /// Swizzle in shared memory.
    pub swizzle: MapSwizzle,
}

/// One parameter of a kernel. `D` is the type of its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Param {
    /// The address of an operand plus bytes.
    Pointer {
        /// The operand.
        operand: u32,
        /// Bytes to add.
        offset: Expr,
    },
    /// A tensor map, by value (128 bytes).
    Map(TensorMap),
    /// A 32-bit integer.
    I32(Expr),
    /// A 64-bit integer.
    I64(Expr),
    /// A 32-bit float.
    F32(f32),
    /// An address in the workspace.
    Workspace {
        /// Bytes from its beginning.
        offset: Expr,
    },
    /// An array, by value, of what each problem of a group has for this parameter: all of one kind, not arrays themselves. The map of an empty tensor,
    /// which a kernel does not use, is 128 zero bytes.
    Each(Vec<Param>),
}

/// Device memory that a kernel needs for itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Bytes, 256-byte aligned.
    pub bytes: Expr,
    /// The first bytes that must be zero before the first launch. Kernels leave them zero, so launches that follow each other on
    /// one stream may share them.
    pub zeroed: Expr,
}

/// How one kernel is started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelLaunch {
    /// The kernel's symbol.
    pub name: String,
    /// What the run-time integers are, in the order of [`Env::dims`]: names for diagnostics.
    pub dims: Vec<String>,
    /// What the operands are, in the order of the addresses: names for diagnostics.
    pub operands: Vec<String>,
    /// CTAs of the grid.
    pub grid: [Expr; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster; all 1 for none.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub smem_bytes: u32,
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// Device memory it needs besides its operands.
    pub workspace: Option<Workspace>,
    /// It may begin while kernels before it in the stream run: before it touches memory it waits until they are done (`griddepcontrol.wait`).
    #[serde(default)]
    pub overlaps: bool,
    /// It is for launches where this is not zero; `None` for all.
    #[serde(default)]
    pub when: Option<Expr>,
    /// It is for launches whose operands' addresses are all multiples of this; 0 for any.
    #[serde(default)]
    pub alignment: u64,
    /// What to start where this one is not for a launch: another kernel of the same operands and integers.
    #[serde(default)]
    pub otherwise: Option<Box<KernelLaunch>>,
}

/// A parameter with its value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bytes of a scalar or an address, little endian.
    Bytes(Vec<u8>),
    /// A tensor map to be encoded, and the address of its first element.
    Map(TensorMap<u64>, u64),
    /// Several of them, one after the other; zeros for none.
    Maps(Vec<Option<(TensorMap<u64>, u64)>>),
}

/// One launch, computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// CTAs of the grid; a zero means that there is nothing to do and nothing may be launched.
    pub grid: [u32; 3],
    /// The parameters.
    pub params: Vec<Value>,
}

impl Resolved {
    /// Whether the grid has no CTA: then the driver must not be called.
    pub fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

fn in_range(what: impl Into<String>, value: i64, low: i64, high: i64) -> Result<i64, LaunchError> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(LaunchError::Range { what: what.into(), value, low, high })
}

impl KernelLaunch {
    /// This kernel and those that stand in for it, in the order in which they are tried.
    pub fn variants(&self) -> impl Iterator<Item = &KernelLaunch> {
        std::iter::successors(Some(self), |launch| launch.otherwise.as_deref())
    }

    /// The number (of [`KernelLaunch::variants`]) of the first variant that is for such a launch.
    pub fn choose(&self, env: &Env<'_>, operands: &[u64]) -> Result<usize, LaunchError> {
        for (i, launch) in self.variants().enumerate() {
            let aligned = launch.alignment == 0 || operands.iter().all(|a| a.is_multiple_of(launch.alignment));
            let wanted = launch.when.as_ref().map_or(Ok(1), |when| when.eval(env))?;
            if aligned && wanted != 0 {
                return Ok(i);
            }
        }
        Err(LaunchError::NoVariant { kernel: self.name.clone() })
    }

    /// Appends a variant, for launches that none of those here is for.
    pub fn or_else(mut self, other: KernelLaunch) -> Self {
        self.otherwise = Some(Box::new(match self.otherwise {
            Some(next) => next.or_else(other),
            None => other,
        }));
        self
    }

    /// Bytes of workspace, and how many of them must be zero at first.
    pub fn workspace_bytes(&self, env: &Env<'_>) -> Result<(u64, u64), LaunchError> {
        let Some(workspace) = &self.workspace else { return Ok((0, 0)) };
        let bytes = in_range("the workspace", workspace.bytes.eval(env)?, 0, i64::MAX)?;
        Ok((bytes as u64, in_range("the zeroed workspace", workspace.zeroed.eval(env)?, 0, bytes)? as u64))
    }

    /// Computes one launch from the run-time integers, the operands' addresses and the workspace's.
    pub fn resolve(&self, env: &Env<'_>, operands: &[u64], workspace: u64) -> Result<Resolved, LaunchError> {
        const GRID: [i64; 3] = [0x7FFF_FFFF, 65_535, 65_535];
        let mut grid = [0; 3];
        for (i, formula) in self.grid.iter().enumerate() {
            grid[i] =
                in_range(format!("grid dimension {i} of `{}`", self.name), formula.eval(env)?, 0, GRID[i])? as u32;
        }
        if grid.contains(&0) {
            return Ok(Resolved { grid, params: vec![] });
        }
        let params = self.params.iter().map(|param| param.resolve(env, operands, workspace));
        let params = params.collect::<Result<Vec<_>, _>>()?;
        Ok(Resolved { grid, params })
    }
}

impl Param {
    /// Its value: see [`KernelLaunch::resolve`].
    fn resolve(&self, env: &Env<'_>, operands: &[u64], workspace: u64) -> Result<Value, LaunchError> {
        let address = |index: u32| {
            let missing = LaunchError::MissingOperand { index, given: operands.len() };
            operands.get(index as usize).copied().ok_or(missing)
        };
        let located = |map: &TensorMap| -> Result<_, LaunchError> {
            let map = map.resolve(env)?;
            let address = address(map.operand)?.wrapping_add(map.offset);
            Ok((map, address))
        };
        let bytes = |bytes: &[u8]| -> Result<Value, LaunchError> { Ok(Value::Bytes(bytes.to_vec())) };
        match self {
            Param::Pointer { operand, offset } => {
                bytes(&address(*operand)?.wrapping_add_signed(offset.eval(env)?).to_le_bytes())
            }
            Param::Workspace { offset } => bytes(&workspace.wrapping_add_signed(offset.eval(env)?).to_le_bytes()),
            Param::I32(value) => {
                let value = in_range("a 32-bit parameter", value.eval(env)?, i32::MIN.into(), i32::MAX.into())?;
                bytes(&(value as i32).to_le_bytes())
            }
            Param::I64(value) => bytes(&value.eval(env)?.to_le_bytes()),
            Param::F32(value) => bytes(&value.to_le_bytes()),
            Param::Map(map) => located(map).map(|(map, address)| Value::Map(map, address)),
            Param::Each(list) if list.iter().all(|param| matches!(param, Param::Map(_))) => {
                let maps = list.iter().filter_map(|param| if let Param::Map(map) = param { Some(map) } else { None });
                let some = |map: &TensorMap| if map.is_empty(env)? { Ok(None) } else { located(map).map(Some) };
                maps.map(some).collect::<Result<_, _>>().map(Value::Maps)
            }
            Param::Each(list) => {
                let mut all = Vec::new();
                for param in list {
                    match param.resolve(env, operands, workspace)? {
                        Value::Bytes(own) => all.extend(own),
                        Value::Map(..) | Value::Maps(_) => return Err(LaunchError::Mixed),
                    }
                }
                Ok(Value::Bytes(all))
            }
        }
    }

    /// Bytes that it takes in a kernel's parameters.
    pub fn bytes(&self) -> u64 {
        match self {
            Param::Map(_) => 128,
            Param::I32(_) | Param::F32(_) => 4,
            Param::I64(_) | Param::Pointer { .. } | Param::Workspace { .. } => 8,
            Param::Each(list) => list.iter().map(Param::bytes).sum(),
        }
    }
}

impl TensorMap {
    /// Has a dimension no elements?
    fn is_empty(&self, env: &Env<'_>) -> Result<bool, LaunchError> {
        self.dims.iter().try_fold(false, |empty, dim| Ok(empty || dim.eval(env)? == 0))
    }

    /// Its numbers, with the hardware's ranges checked.
    pub fn resolve(&self, env: &Env<'_>) -> Result<TensorMap<u64>, LaunchError> {
        let name = |what: &str, i: usize| format!("{what} {i} of the tensor map of operand {}", self.operand);
        let mut dims = Vec::new();
        for (i, dim) in self.dims.iter().enumerate() {
            dims.push(in_range(name("dimension", i), dim.eval(env)?, 1, 1 << 32)? as u64);
        }
        let mut strides = Vec::new();
        for (i, stride) in self.strides.iter().enumerate() {
            let stride = in_range(name("stride", i), stride.eval(env)?, 0, (1 << 40) - 1)?;
            in_range(format!("{} modulo 16", name("stride", i)), stride % 16, 0, 0)?;
            strides.push(stride as u64);
        }
        let offset = self.offset.eval(env)? as u64;
        Ok(TensorMap {
            operand: self.operand,
            offset,
            dtype: self.dtype,
            dims,
            strides,
            boxes: self.boxes.clone(),
            swizzle: self.swizzle,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> KernelLaunch {
        let (m, k) = (Expr::Dim(0), Expr::Dim(1));
        KernelLaunch {
            name: "k".to_owned(),
            dims: vec!["M".to_owned(), "K".to_owned()],
            operands: vec!["a".to_owned()],
            grid: [m.clone().ceil_div(128).min(Expr::Sms), 1.into(), 1.into()],
            block: [128, 1, 1],
            cluster: [1; 3],
            smem_bytes: 0,
            params: vec![
                Param::Map(TensorMap {
                    operand: 0,
                    offset: 0.into(),
                    dtype: MapType::F16,
                    dims: vec![k.clone(), m.clone()],
                    strides: vec![k * 2],
                    boxes: vec![64, 128],
                    swizzle: MapSwizzle::B128,
                }),
                Param::I32(m),
            ],
            workspace: None,
            overlaps: false,
            when: None,
            alignment: 0,
            otherwise: None,
        }
    }

    #[test]
    fn resolves_formulas_over_dimensions() {
        let resolved = launch().resolve(&Env { dims: &[300, 64], sms: 132 }, &[4096], 0).unwrap();
        assert_eq!(resolved.grid, [3, 1, 1]);
        assert_eq!(resolved.params[1], Value::Bytes(300_i32.to_le_bytes().to_vec()));
        let Value::Map(map, address) = &resolved.params[0] else { panic!("a map") };
        assert_eq!((map.dims.as_slice(), map.strides.as_slice(), *address), (&[64, 300][..], &[128][..], 4096));
    }

    #[test]
    fn arrays_hold_what_each_problem_has() {
        let mut launch = launch();
        let map = launch.params[0].clone();
        let sizes = vec![Param::I32(Expr::Dim(0)), Param::I32(7.into())];
        launch.params = vec![Param::Each(sizes), Param::Each(vec![map.clone(), map])];
        let resolve = |m| launch.resolve(&Env { dims: &[m, 64], sms: 132 }, &[4096], 0).unwrap().params;
        assert_eq!(resolve(300)[0], Value::Bytes([300_i32.to_le_bytes(), 7_i32.to_le_bytes()].concat()));
        let Value::Maps(maps) = &resolve(300)[1] else { panic!("maps") };
        assert!(
            maps.iter().all(|map| map.as_ref().is_some_and(|(map, address)| map.dims == [64, 300] && *address == 4096))
        );
        launch.grid[0] = 1.into();
        let none = launch.resolve(&Env { dims: &[0, 64], sms: 132 }, &[0], 0).unwrap();
        assert_eq!(none.params[1], Value::Maps(vec![None, None]));
        assert_eq!(launch.params.iter().map(Param::bytes).collect::<Vec<_>>(), [8, 256]);
    }

    #[test]
    fn nothing_to_do_resolves_to_an_empty_grid() {
        assert!(launch().resolve(&Env { dims: &[0, 64], sms: 132 }, &[4096], 0).unwrap().is_empty());
    }

    #[test]
    fn says_what_is_wrong() {
        let env = Env { dims: &[300, 63], sms: 132 };
        let error = launch().resolve(&env, &[4096], 0).unwrap_err().to_string();
        assert_eq!(error, "stride 0 of the tensor map of operand 0 modulo 16 is 14, which is not in 0..=0");
        let error = launch().resolve(&Env { dims: &[300], sms: 132 }, &[4096], 0).unwrap_err();
        assert_eq!(error, LaunchError::MissingDim { index: 1, given: 1 });
    }

    #[test]
    fn the_first_variant_that_fits_is_chosen() {
        let first = KernelLaunch { when: Some(Expr::Dim(0).less(65)), alignment: 16, ..launch() };
        let all = first.or_else(KernelLaunch { alignment: 16, ..launch() }).or_else(launch());
        let choose = |m, address| all.choose(&Env { dims: &[m, 64], sms: 132 }, &[address]);
        assert_eq!((choose(64, 4096), choose(65, 4096), choose(1, 4098)), (Ok(0), Ok(1), Ok(2)));
        let only = KernelLaunch { when: Some(0.into()), ..launch() };
        assert!(only.choose(&Env { dims: &[1, 64], sms: 132 }, &[0]).is_err());
    }

    #[test]
    fn serialises() {
        let text = serde_json::to_string(&launch()).unwrap();
        assert_eq!(serde_json::from_str::<KernelLaunch>(&text).unwrap(), launch());
    }
}
