//! PTX text as a tree: what is written, before any of it is given a meaning.

mod lex;
mod parse;

pub use parse::parse;

/// A PTX module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `.version`, as major * 10 + minor.
    pub version: u32,
    /// `.target`, such as `sm_90a`.
    pub target: String,
    /// Variables at module scope.
    pub variables: Vec<Variable>,
    /// Entries and functions.
    pub functions: Vec<Function>,
    /// `.file` numbers and names.
    pub files: Vec<(u32, String)>,
}

/// `.entry` or `.func`.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it is a kernel.
    pub entry: bool,
    /// Return parameters of a `.func`.
    pub returns: Vec<Variable>,
    /// Parameters in order.
    pub params: Vec<Variable>,
    /// Directives such as `.reqntid` with their numbers.
    pub directives: Vec<(String, Vec<u64>)>,
    /// Statements; `None` for a declaration.
    pub body: Option<Vec<Statement>>,
    /// Line of its header.
    pub line: u32,
}

/// A variable in a state space.
#[derive(Clone, Debug, Default)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// `shared`, `global`, `const`, `local` or `param`.
    pub space: String,
    /// Element type without the dot.
    pub ty: String,
    /// Alignment in bytes, 0 if not given.
    pub align: u64,
    /// Number of elements; 0 for an unsized array.
    pub count: u64,
    /// Whether it is `.extern`.
    pub external: bool,
    /// Initial elements.
    pub init: Vec<Init>,
    /// Line of its declaration.
    pub line: u32,
}

/// One element of an initialiser.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// A number, as bits of the element type.
    Number(u64),
    /// The (generic) address of a symbol plus an offset.
    Symbol(String, i64),
}

/// A statement of a body.
#[derive(Clone, Debug)]
pub enum Statement {
    /// An instruction.
    Instruction(Instruction),
    /// `name:`
    Label(String, u32),
    /// `.reg .b32 %r<5>;`: type, name, the count of a parameterised name, line.
    Registers(String, String, Option<u64>, u32),
    /// A variable of the function.
    Variable(Variable),
    /// `.loc file line`.
    Location(u32, u32),
    /// `name: .branchtargets a, b;`
    BranchTargets(String, Vec<String>, u32),
    /// `name: .callprototype ...;`: numbers of results and of parameters.
    Prototype(String, usize, usize),
    /// `{`
    Open,
    /// `}`
    Close,
}

/// An instruction as written.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Guard predicate and whether it is negated.
    pub guard: Option<(String, bool)>,
    /// Parts of the opcode between dots.
    pub parts: Vec<String>,
    /// Operands in order.
    pub operands: Vec<Operand>,
    /// Line of the text.
    pub line: u32,
}

impl Instruction {
    /// The opcode with its dots.
    pub fn opcode(&self) -> String {
        self.parts.join(".")
    }

    /// Whether a part of the opcode, other than the first, is `part`.
    pub fn has(&self, part: &str) -> bool {
        self.parts.iter().skip(1).any(|p| p == part)
    }
}

/// An operand as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, symbol, label, special register or `_`.
    Name(String),
    /// `!%p1`
    Not(String),
    /// An integer literal, or the bits of a `0f`/`0d` one.
    Number(u64),
    /// `sym+4`
    Offset(String, i64),
    /// `%p1|%p2`
    Pair(String, String),
    /// `{%r1, %r2}`
    Vector(Vec<Operand>),
    /// `[%rd1+16]` or `[map, {x, y}]`
    Address(Vec<Operand>),
    /// `(a, b)` of a call.
    List(Vec<Operand>),
}
