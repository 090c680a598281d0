//! What products must have in common to be computed by the same kernels.

use aitmlir_lowering::cuda::{
    kernels::{
        gemm_kernel::GemmKernel,
        problem::{Dtype, Problem},
    },
    tuning::{Epilogue, Major, Product, TF32},
};
use anyhow::{Context as _, Result};
use kernel_launch::Expr;

/// Which kernel computes products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// The one for sm_80 and later, which takes all.
    Sm80,
    /// The one for sm_90a.
    Sm90,
}

/// Products that the same kernels compute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// The kernel.
    pub generation: Generation,
    /// Of A and B, as a product has it.
    pub dtype: String,
    out: String,
    a: Major,
    b: Major,
    epilogue: Epilogue,
    batched: bool,
    /// Columns are even, and rows of the result are read and written in pairs.
    pairs: bool,
    /// Results may leave through TMA.
    pub tma_store: bool,
    /// Products in one launch.
    members: usize,
    /// Bytes of the copies of A and of B, of the kernel for sm_80.
    pub copy_bytes: [u32; 2],
    /// M, N, K and the batch of each product where kernels know them, as those of a model of fixed shapes do; else they come at run time.
    known: Vec<[i64; 4]>,
}

/// The type of elements in memory of that name.
pub fn dtype(name: &str) -> Result<Dtype> {
    let all = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::S8, Dtype::U8, Dtype::S32];
    let name = if name == TF32 { "f32" } else { name };
    all.into_iter().find(|d| d.name() == name).with_context(|| format!("no products of {name} are tuned"))
}

impl Class {
    /// That of a product; `generation`: the kernel of sm_80 is wanted also where there is a newer one; `known`: kernels know the sizes.
    pub fn of(product: &Product, generation: Generation, known: bool) -> Result<Class> {
        let (element, out) = (dtype(&product.dtype)?, dtype(&product.out)?);
        let members = product.members();
        let lines = |major: Major, of: fn(&[i64; 3], Major) -> i64| {
            members.iter().map(|m| of(m, major) * element.bytes()).collect::<Vec<_>>()
        };
        let left = lines(product.a, |[m, _, k], major| if major == Major::Row { *k } else { *m });
        let right = lines(product.b, |[_, n, k], major| if major == Major::Row { *n } else { *k });
        let whole = left.iter().chain(&right).all(|line| line % 16 == 0);
        let newer = element.half() && whole && generation == Generation::Sm90;
        let widest = |lines: &[i64], along_k: bool| {
            let width = [16, 8, 4].into_iter().find(|width| lines.iter().all(|line| line % width == 0));
            let width = width.filter(|_| along_k || element.half()).unwrap_or(element.bytes());
            width.max(element.bytes()) as u32
        };
        Ok(Class {
            generation: if newer { Generation::Sm90 } else { Generation::Sm80 },
            dtype: product.dtype.clone(),
            out: product.out.clone(),
            a: product.a,
            b: product.b,
            epilogue: product.epilogue,
            batched: product.batch > 1,
            pairs: members.iter().all(|[_, n, _]| n % 2 == 0),
            tma_store: members.iter().all(|[_, n, _]| n * out.bytes() % 16 == 0),
            members: members.len(),
            known: members.iter().filter(|_| known).map(|[m, n, k]| [*m, *n, *k, product.batch]).collect(),
            copy_bytes: if newer {
                [16, 16]
            } else {
                [widest(&left, product.a == Major::Row), widest(&right, product.b == Major::Column)]
            },
        })
    }

    /// A kernel as it is for this class.
    pub fn adapted(&self, kernel: GemmKernel) -> GemmKernel {
        use aitmlir_lowering::cuda::kernels::{gemm_sm80, gemm_sm90::choose::adapted};
        match kernel {
            GemmKernel::Sm90(config) => GemmKernel::Sm90(adapted(config, self.tma_store)),
            GemmKernel::Sm80(config) => GemmKernel::Sm80(gemm_sm80::Config { copy_bytes: self.copy_bytes, ..config }),
        }
    }

    /// The problems of a launch. Run-time integers are M, N and K of each, and the batch where there is one.
    pub fn problems(&self) -> Result<Vec<Problem>> {
        let names = (0..self.members).flat_map(|i| ["m", "n", "k"].map(|name| format!("{name}{i}")));
        let mut dims: Vec<String> = names.collect();
        dims.extend(self.batched.then(|| "batch".to_owned()));
        (0..self.members).map(|i| Ok(Problem { dims: dims.clone(), ..self.problem(i)? })).collect()
    }

    fn problem(&self, number: usize) -> Result<Problem> {
        let [m, n, k, batch] = match self.known.get(number) {
            Some(sizes) => sizes.map(Expr::Const),
            None => [0, 1, 2, 3].map(|i| Expr::Dim(3 * number as u32 + i)),
        };
        let mut problem = Problem::linear(dtype(&self.dtype)?, m.clone(), n.clone(), k.clone());
        problem.out_dtype = dtype(&self.out)?;
        problem.out_pairs = self.pairs && problem.out_dtype.half();
        if self.a == Major::Column {
            (problem.a.line, problem.a.inner) = (m.clone(), false);
        }
        if self.b == Major::Row {
            (problem.b.line, problem.b.inner) = (n.clone(), false);
        }
        if self.epilogue != Epilogue::Plain {
            problem = problem.with_bias();
        }
        for extra in &mut problem.extras {
            extra.dtype = if problem.out_dtype == Dtype::S32 { Dtype::S32 } else { extra.dtype };
            extra.pairs = self.pairs;
            if self.epilogue == Epilogue::Tensor {
                extra.row = Some(n.clone());
            }
        }
        if self.batched {
            problem.batch = batch;
            problem.a.batch = Some(m.clone() * k.clone());
            problem.b.batch = Some(n.clone() * k);
            problem.out.batch = Some(m.clone() * n.clone());
            if self.epilogue == Epilogue::Tensor {
                problem.extras.iter_mut().for_each(|extra| extra.batch = Some(m.clone() * n.clone()));
            }
        }
        // The operands of a group follow each other: those of the first product, those of the second, ...
        let first = number as u32 * (problem.out.operand + 1);
        for place in [&mut problem.a, &mut problem.b, &mut problem.out] {
            place.operand += first;
        }
        problem.extras.iter_mut().for_each(|extra| extra.operand += first);
        Ok(problem)
    }

    /// The beginning of its kernels' names.
    pub fn name(&self) -> String {
        let major = |major| if major == Major::Row { "r" } else { "c" };
        let epilogue = match self.epilogue {
            Epilogue::Plain => "plain",
            Epilogue::Column => "column",
            Epilogue::Tensor => "tensor",
        };
        let (a, b) = (major(self.a), major(self.b));
        let batch = if self.batched { "_batch" } else { "" };
        let odd = if self.pairs { "" } else { "_odd" };
        let group = if self.members > 1 { format!("_group{}", self.members) } else { String::new() };
        let copies = match (self.generation, self.copy_bytes) {
            (Generation::Sm90, _) => String::new(),
            (_, [left, right]) => format!("_copy{left}x{right}"),
        };
        let of = |sizes: &[i64; 4]| sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
        let known: String = self.known.iter().map(|sizes| format!("_{}", of(sizes))).collect();
        format!("gemm_{}_{}_{a}{b}_{epilogue}{batch}{odd}{group}{copies}{known}", self.dtype, self.out)
    }
}
