//! The enum attributes of the dialect, in the order of `td/AitBase.td` (an attribute holds the position as an `i32`).

macro_rules! enums {
    ($($(#[$doc:meta])* $name:ident { $($case:ident = $text:literal),+ $(,)? })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[allow(missing_docs)]
            pub enum $name { $($case),+ }

            impl EnumAttribute for $name {
                const CASES: &'static [Self] = &[$(Self::$case),+];
                fn text(self) -> &'static str {
                    match self { $(Self::$case => $text),+ }
                }
                fn code(self) -> i32 { self as i32 }
            }
        )+
    };
}

/// What all enum attributes can do.
pub trait EnumAttribute: Copy + PartialEq + 'static {
    /// All cases in the order of their codes.
    const CASES: &'static [Self];
    /// The keyword in the assembly format.
    fn text(self) -> &'static str;
    /// The value of the attribute.
    fn code(self) -> i32;
    /// The case of a code.
    fn from_code(code: i64) -> Option<Self> {
        usize::try_from(code).ok().and_then(|i| Self::CASES.get(i)).copied()
    }
}

enums! {
    /// Storage order of a matrix operand.
    MatrixLayout { Row = "row", Col = "col" }
    /// What a reduction computes.
    ReduceKind {
        Sum = "sum", Mean = "mean", Prod = "prod", Max = "max", Min = "min", L1 = "l1", L2 = "l2", LogSum = "log_sum",
        LogSumExp = "log_sum_exp", SumSquare = "sum_square",
    }
    /// Which extreme element an argreduce finds.
    ArgReduceKind { Max = "max", Min = "min" }
    /// Softmax or its logarithm.
    SoftmaxKind { Softmax = "softmax", LogSoftmax = "log_softmax" }
    /// What a normalisation normalises over.
    NormKind { Layer = "layer", Rms = "rms", Instance = "instance", Group = "group" }
    /// What a pooling window computes.
    PoolKind { Max = "max", Average = "average", Lp = "lp" }
    /// How indices address the data of a gather.
    GatherKind { Slices = "slices", Elements = "elements", Nd = "nd" }
    /// How indices address the data of a scatter.
    ScatterKind { Elements = "elements", Nd = "nd" }
    /// How an update meets the element that it hits.
    ScatterReduction { None = "none", Add = "add", Mul = "mul", Max = "max", Min = "min" }
    /// What a padded element holds.
    PadMode { Constant = "constant", Reflect = "reflect", Edge = "edge", Wrap = "wrap" }
    /// Interpolation of a resize.
    ResizeMode { Nearest = "nearest", Linear = "linear", Cubic = "cubic" }
    /// Maps an output coordinate to an input coordinate.
    CoordinateMode {
        HalfPixel = "half_pixel", HalfPixelSymmetric = "half_pixel_symmetric",
        PytorchHalfPixel = "pytorch_half_pixel", AlignCorners = "align_corners", Asymmetric = "asymmetric",
        TfHalfPixelForNn = "tf_half_pixel_for_nn", TfCropAndResize = "tf_crop_and_resize",
    }
    /// Rounding of a nearest coordinate.
    NearestMode { RoundPreferFloor = "round_prefer_floor", RoundPreferCeil = "round_prefer_ceil", Floor = "floor", Ceil = "ceil" }
    /// What a scan accumulates.
    ScanKind { Sum = "sum", Prod = "prod" }
    /// What a region-of-interest bin computes.
    RoiMode { Average = "average", Max = "max" }
    /// Interpolation of a grid sample.
    GridMode { Nearest = "nearest", Linear = "linear", Cubic = "cubic" }
    /// What lies outside a sampled image.
    GridPadding { Zeros = "zeros", Border = "border", Reflection = "reflection" }
    /// The recurrent cell.
    RnnKind { Lstm = "lstm", Gru = "gru", Rnn = "rnn" }
    /// The order of the time steps.
    RnnDirection { Forward = "forward", Reverse = "reverse", Bidirectional = "bidirectional" }
    /// Which part of the score matrix is kept.
    CausalKind { None = "none", Lower = "lower", Upper = "upper", LowerRight = "lower_right" }
    /// The distribution drawn from.
    RandomKind { Uniform = "uniform", Normal = "normal" }
}
