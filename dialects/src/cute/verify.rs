//! The verifiers of operations whose results are not inferred: each checks the constraints C1, C2, ... of its op's description in `td/`.

pub use super::verify_tensor::tma_box;
use super::{Cute, Space, View, access, leaves, pending, types, verify_async, verify_tensor};
use crate::{
    ait::OpView,
    types::{Op, TypeExt, Val},
};
use cute_layout::{
    Int, Slot,
    atom::{CopyAtom, CopyKind, Descriptor, Element, Major, MmaAtom, MmaKind, Operand, Side},
};
use melior::ir::ValueLike;

/// What is wrong with an op, if anything: the message behind "'cute.op' op ".
pub(super) type Verdict = Result<(), String>;

/// Checks one op.
pub fn verify(op: Op<'_>) -> Verdict {
    let view = OpView(op);
    match view.name().as_str() {
        "cute.alloc_shared" => alloc_shared(view),
        "cute.convert" => convert(view),
        "cute.copy" => copy(view),
        "cute.load_within" => super::edge::load_within(view),
        "cute.descriptor" => descriptor_of(view).map(|_| ()),
        "cute.fill" => fill(view),
        "cute.gemm" => gemm(view),
        "cute.get_scalars" => get_scalars(view),
        "cute.load" => element_access(view, view.results().first().copied(), 0),
        "cute.make_ptr" => make_ptr(view),
        "cute.static" => constant(view),
        "cute.tma_load" | "cute.tma_store" => verify_tensor::tma(view),
        "cute.store_within" => verify_tensor::store_within(view),
        "cute.wgmma_fence" | "cute.wgmma_wait" => verify_async::fragments(view),
        "cute.alloc_pipeline" | "cute.make_pipeline" => verify_async::makes_pipeline(view),
        "cute.consumer_release"
        | "cute.consumer_wait"
        | "cute.pipeline_init"
        | "cute.pipeline_next"
        | "cute.pipeline_stage"
        | "cute.producer_acquire"
        | "cute.producer_commit" => verify_async::pipeline(view),
        "cute.pipeline_barrier" | "cute.producer_expect" => verify_async::barrier(view),
        "cute.store" => element_access(view, view.operands().first().copied(), 1),
        "cute.wgmma_commit" => Ok(()),
        _ => make(view),
    }
}

pub(super) fn value_of(value: Val<'_>) -> Option<Cute> {
    types::of_type(value.r#type())
}

pub(super) fn view_of(value: Option<&Val<'_>>, what: &str) -> Result<View, String> {
    match value.map(|v| (value_of(*v), v.r#type())) {
        Some((Some(Cute::View(view)), _)) => Ok(view),
        Some((_, r#type)) => Err(format!("C1: the {what} is a view, got {}", r#type)),
        None => Err(format!("C1: the {what} is missing")),
    }
}

pub(super) fn result_of(view: OpView<'_>) -> Option<Cute> {
    view.results().first().and_then(|result| value_of(*result))
}

/// `make_shape` and its kin.
fn make(view: OpView<'_>) -> Verdict {
    let kind = view.name().trim_start_matches("cute.make_").to_string();
    let made = result_of(view).filter(|made| made.kind() == kind);
    let Some(made) = made else {
        return Err(format!(
            "gives a {kind}, not {}",
            view.results().first().map_or(String::new(), |r| r.r#type().to_string())
        ));
    };
    let (wanted, operands) = (leaves::dynamic(&made), view.operands());
    if wanted.len() != operands.len() {
        return Err(format!("C1: {} has {} dynamic leaves, got {} operands", made, wanted.len(), operands.len()));
    }
    for (i, (leaf, operand)) in wanted.iter().zip(operands).enumerate() {
        let bits = leaves::bits(leaf);
        let fits = match value_of(operand) {
            Some(Cute::Ints(_, ints)) => matches!(ints.leaves().as_slice(), [only] if leaves::bits(only) <= bits),
            _ => operand.r#type().is_int_type() && operand.r#type().bits() == bits,
        };
        if !fits {
            return Err(format!(
                "C2: operand {i} becomes the leaf {leaf}, which is an i{bits}, got {}",
                operand.r#type()
            ));
        }
    }
    Ok(())
}

fn constant(view: OpView<'_>) -> Verdict {
    match result_of(view) {
        Some(value) if leaves::is_static(&value) => Ok(()),
        Some(value) => Err(format!("C1: {value} is not static: it has a pointer or a '?'")),
        None => Err("C1: gives a value of the cute dialect".into()),
    }
}

fn get_scalars(view: OpView<'_>) -> Verdict {
    let operand = view.operands().first().and_then(|v| value_of(*v));
    let Some(value) = operand.filter(|v| !matches!(v, Cute::Ptr(_) | Cute::View(_) | Cute::Pipeline(_))) else {
        return Err("takes a tuple, layout, tile or atom; a view has get_layout".into());
    };
    let wanted = if view.has("only_dynamic") { leaves::dynamic(&value) } else { leaves::all(&value) };
    let results = view.results();
    if wanted.len() != results.len() {
        return Err(format!("C1: {value} has {} such leaves, got {} results", wanted.len(), results.len()));
    }
    for (leaf, result) in wanted.iter().zip(results) {
        let bits = match leaf.as_static() {
            Some(number) if i32::try_from(number).is_err() => 64,
            _ => leaves::bits(leaf),
        };
        if result.r#type().bits() != bits {
            return Err(format!("C1: the leaf {leaf} is an i{bits}, got {}", result.r#type()));
        }
    }
    Ok(())
}

fn make_ptr(view: OpView<'_>) -> Verdict {
    let Some(Cute::Ptr(ptr)) = result_of(view) else {
        return Err("C1: gives a ptr".into());
    };
    if ptr.space == Space::Register {
        return Err("C1: registers have no pointers; make_fragment gives a view of them".into());
    }
    let from = view.operands().first().map_or(String::new(), |p| p.r#type().to_string());
    let space = ptr.space.address_space();
    if from == "!llvm.ptr" || from == format!("!llvm.ptr<{space}>") {
        return Ok(());
    }
    Err(format!("C2: a pointer into {} comes from !llvm.ptr or !llvm.ptr<{space}>, got {from}", ptr.space))
}

fn alloc_shared(view: OpView<'_>) -> Verdict {
    match result_of(view) {
        Some(Cute::Ptr(ptr)) if ptr.space == Space::Shared => {}
        _ => return Err("C1: gives a pointer into smem".into()),
    }
    match view.i64("elements") {
        Some(elements) if elements > 0 => {}
        elements => return Err(format!("C2: the number of elements is positive, got {}", elements.unwrap_or(0))),
    }
    match result_of(view) {
        Some(Cute::Ptr(ptr)) if view.has("dynamic") && ptr.align > DYNAMIC_ALIGN => {
            Err(format!("C3: dynamic shared memory is aligned to at most {DYNAMIC_ALIGN} bytes, got {}", ptr.align))
        }
        _ => Ok(()),
    }
}

/// What the dynamic shared memory of a kernel is aligned to, in bytes: the longest pattern of a swizzle.
pub const DYNAMIC_ALIGN: i64 = 1024;

/// A scalar of an element type.
fn scalar(value: Option<Val<'_>>, element: Element) -> Verdict {
    let Some(value) = value else { return Err("C1: has no value".into()) };
    let r#type = value.r#type();
    let wanted = match element {
        Element::Tf32 => "f32".into(),
        Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => "i8".into(),
        Element::S32 => "i32".into(),
        float => float.to_string(),
    };
    match r#type.to_string() == wanted {
        true => Ok(()),
        false => Err(format!("C1: an element of {element} has the type {wanted}, got {}", r#type)),
    }
}

fn fill(view: OpView<'_>) -> Verdict {
    let operands = view.operands();
    let target = view_of(operands.get(1), "target")?;
    registers(&target, "target")?;
    scalar(operands.first().copied(), target.ptr.element)
}

pub(super) fn registers(view: &View, what: &str) -> Verdict {
    match (view.ptr.space, view.layout.outer().is_static()) {
        (Space::Register, true) => Ok(()),
        (Space::Register, false) => Err(format!("C1: the {what} has a static layout, got {}", view.layout)),
        (space, _) => Err(format!("C1: the {what} is a view of registers (rmem), got one of {space}")),
    }
}

fn element_access(op: OpView<'_>, value: Option<Val<'_>>, at: usize) -> Verdict {
    let operands = op.operands();
    let view = view_of(operands.get(at), "view")?;
    let coord = match operands.get(at + 1).map(|c| types::of_operand(c.r#type())) {
        Some(Some(Cute::Coord(coord))) => coord,
        Some(Some(Cute::Ints(_, ints))) => ints.into(),
        _ => return Err("C2: the coordinate is a coord, an int_tuple or an integer".into()),
    };
    if coord.leaves().iter().any(|slot| **slot == Slot::All) {
        return Err(format!("C2: the coordinate {coord} leaves a mode open; slice the view instead"));
    }
    view.layout.eval(&coord).map_err(|error| format!("C2: {error}"))?;
    scalar(value, view.ptr.element)
}

fn size_of(view: &View, what: &str) -> Result<i64, String> {
    let size = view.layout.outer().size().map_err(|error| error.to_string())?;
    size.as_static().ok_or_else(|| format!("C2: the {what} has a static size, got {}", view.layout))
}

fn convert(view: OpView<'_>) -> Verdict {
    let operands = view.operands();
    let (from, to) = (view_of(operands.first(), "source")?, view_of(operands.get(1), "destination")?);
    registers(&from, "source")?;
    registers(&to, "destination")?;
    let (a, b) = (size_of(&from, "source")?, size_of(&to, "destination")?);
    if a != b {
        return Err(format!("C2: the source has {a} elements, the destination {b}"));
    }
    let float = |e: Element| matches!(e, Element::F16 | Element::Bf16 | Element::F32 | Element::F64 | Element::Tf32);
    if !float(from.ptr.element) || !float(to.ptr.element) {
        return Err(format!("C3: converts float types, got {} to {}", from.ptr.element, to.ptr.element));
    }
    Ok(())
}

/// The static sizes of a view's modes.
pub(super) fn mode_sizes(view: &View, what: &str) -> Result<Vec<i64>, String> {
    let modes = view.layout.outer().modes();
    let size = |(i, mode): (usize, cute_layout::Layout)| {
        let size = mode.size().map_err(|error| error.to_string())?;
        size.as_static().ok_or_else(|| {
            format!("C2: mode {i} of the {what} has the dynamic size {size}; a copy is unrolled, so loop over that mode and slice it")
        })
    };
    modes.into_iter().enumerate().map(size).collect()
}

/// The atom of a copy and the element type it was made for.
pub fn copy_atom(value: &Cute) -> Option<(CopyAtom, Element)> {
    match value {
        Cute::CopyAtom(atom, element) => Some((*atom, *element)),
        Cute::TiledCopy(copy) => Some((copy.atom, copy.element)),
        _ => None,
    }
}

fn copy(view: OpView<'_>) -> Verdict {
    let (atom, _) = copied(view)?;
    let zero_fill = matches!(atom.kind, CopyKind::CpAsync { zero_fill: true, .. });
    if zero_fill && view.operands().len() < 4 {
        return Err(format!("{atom} writes zeros where its predicate is false, and has none: add 'if %predicate'"));
    }
    Ok(())
}

/// The atom of a copy whose atom, source and destination fit.
pub(super) fn copied(view: OpView<'_>) -> Result<(CopyAtom, Element), String> {
    let operands = view.operands();
    let atom = operands.first().and_then(|v| value_of(*v)).and_then(|value| copy_atom(&value));
    let Some((atom, element)) = atom else {
        return Err("takes a copy_atom or a tiled_copy first".into());
    };
    let (from, to) = (view_of(operands.get(1), "source")?, view_of(operands.get(2), "destination")?);
    for (view, what) in [(&from, "source"), (&to, "destination")] {
        if view.ptr.element.bits() != element.bits() {
            return Err(format!("C1: the atom copies {element}, the {what} has {}", view.ptr.element));
        }
    }
    copy_shapes(&atom, element, &from, &to)?;
    copy_spaces(&atom, &from, &to)?;
    for (view, what) in [(&from, "source"), (&to, "destination")] {
        access::check(view, access_count(&atom, element, view)).map_err(|error| format!("C4: the {what} {error}"))?;
    }
    Ok((atom, element))
}

/// How many elements one access of a side has: in registers `ldmatrix` and `stmatrix` see 32 bits at a time, other atoms single elements.
pub fn access_count(atom: &CopyAtom, element: Element, view: &View) -> i64 {
    let matrix = matches!(atom.kind, CopyKind::LdMatrix { .. } | CopyKind::StMatrix { .. });
    let bits = match view.ptr.space {
        Space::Register if matrix => 32,
        Space::Register => element.bits(),
        _ => atom.access_bits(),
    };
    i64::from(bits / element.bits()).max(1)
}

fn copy_shapes(atom: &CopyAtom, element: Element, from: &View, to: &View) -> Verdict {
    let (a, b) = (mode_sizes(from, "source")?, mode_sizes(to, "destination")?);
    if a.len() != b.len() {
        return Err(format!(
            "C2: the source has rank {}, the destination {}: {} and {}; slice or partition both alike",
            a.len(),
            b.len(),
            from.layout.outer(),
            to.layout.outer()
        ));
    }
    for (i, (a, b)) in a.iter().zip(&b).enumerate().skip(1) {
        if a != b {
            return Err(format!("C2: mode {i} has {a} elements in the source and {b} in the destination"));
        }
    }
    let count = |side: Side, values: i64, what: &str| {
        let per_atom = atom.values(side, element).and_then(|tv| tv.get(&[1])?.size()).map_err(|e| e.to_string())?;
        let per_atom = per_atom.as_static().unwrap_or(1);
        match values % per_atom {
            0 => Ok(values / per_atom),
            _ => Err(format!("C2: {atom} moves {per_atom} values of the {what}, its first mode has {values}")),
        }
    };
    let first = |sizes: &[i64]| sizes.first().copied().unwrap_or(1);
    let (a, b) = (count(Side::Source, first(&a), "source")?, count(Side::Destination, first(&b), "destination")?);
    match a == b {
        true => Ok(()),
        false => Err(format!("C2: the first mode is {a} times {atom} in the source and {b} times in the destination")),
    }
}

fn copy_spaces(atom: &CopyAtom, from: &View, to: &View) -> Verdict {
    let wanted = match atom.kind {
        CopyKind::Universal { .. } => return Ok(()),
        CopyKind::CpAsync { .. } => (Space::Global, Space::Shared),
        CopyKind::LdMatrix { .. } => (Space::Shared, Space::Register),
        CopyKind::StMatrix { .. } => (Space::Register, Space::Shared),
    };
    let found = (from.ptr.space, to.ptr.space);
    match found == wanted {
        true => Ok(()),
        false => Err(format!("C3: {atom} copies {} to {}, got {} to {}", wanted.0, wanted.1, found.0, found.1)),
    }
}

/// The atom of an MMA operand.
fn mma_atom(value: Option<&Val<'_>>) -> Result<MmaAtom, String> {
    match value.and_then(|v| value_of(*v)) {
        Some(Cute::TiledMma(mma)) => Ok(mma.atom),
        Some(Cute::MmaAtom(atom)) => Ok(atom),
        _ => Err("takes a tiled_mma or an mma_atom first".into()),
    }
}

fn gemm(view: OpView<'_>) -> Verdict {
    let operands = view.operands();
    let atom = mma_atom(operands.first())?;
    let (d, a) = (view_of(operands.get(1), "D")?, view_of(operands.get(2), "A")?);
    let (b, c) = (view_of(operands.get(3), "B")?, view_of(operands.get(4), "C")?);
    if d.layout != c.layout {
        return Err(format!("C1: D and C have one layout, got {} and {}", d.layout, c.layout));
    }
    let mut sizes = Vec::new();
    for (part, operand) in [(&c, Operand::C), (&d, Operand::C), (&a, Operand::A), (&b, Operand::B)] {
        let label = if operand == Operand::C { "C1" } else { "C2" };
        if atom.in_registers(operand) {
            registers(part, &operand.to_string())?;
        } else {
            tile_descriptor(part, &atom, operand)?;
        }
        if part.ptr.element != atom.element(operand) {
            return Err(format!("{label}: {operand} of {atom} is {}, got {}", atom.element(operand), part.ptr.element));
        }
        let modes = mode_sizes(part, &operand.to_string())?;
        let values = atom.values(operand).map_err(|error| error.to_string())?;
        if modes.first() != Some(&values) {
            return Err(format!("C3: {operand} of {atom} has {values} values in its first mode, got {}", part.layout));
        }
        sizes.push(modes);
    }
    let at = |sizes: &[i64], mode: usize| sizes.get(mode).copied().unwrap_or(1);
    let (c, a, b) = (&sizes[0], &sizes[2], &sizes[3]);
    let agree = at(c, 1) == at(a, 1) && at(c, 2) == at(b, 1) && at(a, 2) == at(b, 2);
    if !agree || a.len().max(b.len()).max(c.len()) > 3 {
        return Err(format!(
            "C4: needs C (values, M, N), A (values, M, K) and B (values, N, K), got sizes {c:?}, {a:?} and {b:?}"
        ));
    }
    if !view.has("async") {
        return Ok(());
    }
    if atom.kind == MmaKind::MmaSync {
        return Err(format!("C5: {atom} is not asynchronous; only wgmma is"));
    }
    if operands.get(1) != operands.get(4) {
        return Err("C5: the sums stay in place: D and C of an async product are one fragment".into());
    }
    pending::check(view, atom.in_registers(Operand::A))
}

/// The descriptor of the first mode of an operand in shared memory, (M or N, K) of the atom; every other mode steps by whole 16 bytes, and the
/// memory starts where a swizzle does.
pub fn tile_descriptor(part: &View, atom: &MmaAtom, operand: Operand) -> Result<Descriptor, String> {
    let MmaKind::Wgmma { a_major, b_major, .. } = atom.kind else {
        return Err(format!("C2: {atom} takes {operand} from registers"));
    };
    if part.ptr.space != Space::Shared {
        return Err(format!("C2: {atom} takes {operand} from smem, got {}", part.ptr.space));
    }
    let outer = part.layout.outer();
    let tile = outer.get(&[0]).map_err(|error| error.to_string())?;
    if tile.rank() != 2 {
        return Err(format!("C3: {operand} is partitioned by the MMA: ((rows, K), rest, rest), got {outer}"));
    }
    let element = atom.element(operand);
    let units = 16 * 8 / i64::from(element.bits());
    for (i, mode) in outer.modes().iter().enumerate().skip(1) {
        let leaves = mode.tree().leaves();
        if let Some(leaf) = leaves.into_iter().find(|l| !l.size.is(1) && l.stride.scale.facts().div % units != 0) {
            return Err(format!(
                "C2: mode {i} of {operand} steps by {}, not by a multiple of 16 bytes",
                leaf.stride.scale
            ));
        }
    }
    let major = if operand == Operand::A { a_major } else { b_major };
    let layout = part.layout.map(|_| Ok(tile)).map_err(|error| error.to_string())?;
    let made = descriptor(&View { ptr: part.ptr.clone(), layout }, element, major)?;
    let swizzled = made.mode.0 != cute_layout::atom::SharedSwizzle::None;
    let pattern = if swizzled { 8 * made.mode.0.width() } else { 16 };
    if part.ptr.align % pattern != 0 {
        return Err(format!(
            "C2: {operand} is swizzled in patterns of {pattern} bytes, and its pointer is only known to be aligned to {}: state align<{pattern}>",
            part.ptr.align
        ));
    }
    Ok(made)
}

/// The descriptor that a `cute.descriptor` asks for.
pub fn descriptor_of(view: OpView<'_>) -> Result<Descriptor, String> {
    let operands = view.operands();
    let atom = mma_atom(operands.first())?;
    let name = view.string("operand_name").unwrap_or_default();
    let operand = Operand::parse(&name).filter(|o| *o != Operand::C && !atom.in_registers(*o));
    let (MmaKind::Wgmma { a_major, b_major, .. }, Some(operand)) = (atom.kind, operand) else {
        return Err(format!("C2: {atom} does not take the operand {name:?} from shared memory"));
    };
    let tile = view_of(operands.get(1), "operand")?;
    if tile.ptr.space != Space::Shared {
        return Err(format!("C1: the operand is in smem, got {}", tile.ptr.space));
    }
    let major = if operand == Operand::A { a_major } else { b_major };
    descriptor(&tile, atom.element(operand), major)
}

fn descriptor(tile: &View, element: Element, major: Major) -> Result<Descriptor, String> {
    let composed = composed(tile)?;
    if composed
        .offset
        .leaves()
        .iter()
        .any(|offset: &&Int| offset.facts().div % (16 * 8 / i64::from(element.bits())) != 0)
    {
        return Err(format!("C1: the offset {} is not known to be a multiple of 16 bytes", composed.offset));
    }
    Descriptor::of_layout(&composed, element, major).map_err(|error| format!("C1: {error}"))
}

/// A view's layout under a swizzle, that of nothing where it has none.
pub(super) fn composed(view: &View) -> Result<cute_layout::ComposedLayout, String> {
    match &view.layout {
        super::ViewLayout::Composed(composed) => Ok(composed.clone()),
        super::ViewLayout::Plain(layout) => {
            let none = cute_layout::Swizzle::new(0, 4, 3).map_err(|error| error.to_string())?;
            Ok(cute_layout::ComposedLayout::swizzled(none, layout.clone()))
        }
    }
}
