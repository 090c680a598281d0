//! From tokens to the tree.

use super::lex::{Token, lex};
use super::{Function, Init, Instruction, Module, Operand, Statement, Variable};
use crate::error::{Error, Result};

/// Reads a PTX module.
pub fn parse(source: &str) -> Result<Module> {
    let tokens = lex(source)?;
    let mut parser = Parser { tokens, at: 0 };
    parser.module()
}

struct Parser {
    tokens: Vec<(Token, u32)>,
    at: usize,
}

/// Linkage and other words before a declaration that change nothing here.
const LINKAGE: [&str; 4] = [".visible", ".weak", ".common", ".extern"];

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.1)
    }

    fn next(&mut self) -> Result<Token> {
        let token = self.tokens.get(self.at).map(|t| t.0.clone());
        self.at += 1;
        token.ok_or_else(|| Error::syntax(self.line(), "the text ends in the middle of a statement"))
    }

    fn is(&self, c: char) -> bool {
        self.peek() == Some(&Token::Mark(c))
    }

    fn accept(&mut self, c: char) -> bool {
        let yes = self.is(c);
        self.at += usize::from(yes);
        yes
    }

    fn expect(&mut self, c: char) -> Result<()> {
        let line = self.line();
        match self.next()? {
            Token::Mark(m) if m == c => Ok(()),
            other => Err(Error::syntax(line, format!("expected `{c}`, found {}", show(&other)))),
        }
    }

    fn word(&mut self) -> Result<String> {
        let line = self.line();
        match self.next()? {
            Token::Word(w) => Ok(w),
            other => Err(Error::syntax(line, format!("expected a name, found {}", show(&other)))),
        }
    }

    fn number(&mut self) -> Result<u64> {
        let line = self.line();
        let negative = self.accept('-');
        match self.next()? {
            Token::Number(n) if negative => Ok(n.wrapping_neg()),
            Token::Number(n) => Ok(n),
            other => Err(Error::syntax(line, format!("expected a number, found {}", show(&other)))),
        }
    }

    fn module(&mut self) -> Result<Module> {
        let mut module = Module::default();
        while let Some(token) = self.peek().cloned() {
            let line = self.line();
            let Token::Word(word) = token else {
                return Err(Error::syntax(line, format!("expected a directive, found {}", show(&token))));
            };
            match word.as_str() {
                ".version" => {
                    self.at += 1;
                    module.version = self.version()?;
                }
                ".target" => {
                    self.at += 1;
                    module.target = self.word()?;
                    while self.accept(',') {
                        self.word()?;
                    }
                }
                ".address_size" => self.address_size()?,
                ".file" => self.file(&mut module)?,
                ".section" => self.section()?,
                ".pragma" => self.skip_statement()?,
                _ => self.declaration(&mut module)?,
            }
        }
        if module.version == 0 {
            return Err(Error::syntax(1, "no `.version` directive: this is not a PTX module"));
        }
        Ok(module)
    }

    /// `8.6` is lexed as a decimal literal, so the digits are read back from the double.
    fn version(&mut self) -> Result<u32> {
        let line = self.line();
        let value = f64::from_bits(self.number()?);
        let version = (value * 10.0).round();
        if !(80.0..=99.0).contains(&version) {
            return Err(Error::unsupported(line, format!(".version {value}"), "ISA 8.0 to 9.x is"));
        }
        Ok(version as u32)
    }

    fn address_size(&mut self) -> Result<()> {
        self.at += 1;
        let line = self.line();
        match self.number()? {
            64 => Ok(()),
            n => Err(Error::unsupported(line, format!(".address_size {n}"), "addresses are 64 bits")),
        }
    }

    fn file(&mut self, module: &mut Module) -> Result<()> {
        self.at += 1;
        let number = self.number()? as u32;
        let line = self.line();
        match self.next()? {
            Token::Text(name) => module.files.push((number, name)),
            other => {
                return Err(Error::syntax(line, format!("expected a file name, found {}", show(&other))));
            }
        }
        while self.accept(',') {
            self.number()?;
        }
        Ok(())
    }

    fn section(&mut self) -> Result<()> {
        while !self.is('{') {
            self.next()?;
        }
        let mut depth = 0;
        loop {
            match self.next()? {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_statement(&mut self) -> Result<()> {
        while !self.accept(';') {
            self.next()?;
        }
        Ok(())
    }

    fn declaration(&mut self, module: &mut Module) -> Result<()> {
        let mut external = false;
        let line = self.line();
        loop {
            let word = self.word()?;
            match word.as_str() {
                w if LINKAGE.contains(&w) => external |= w == ".extern",
                ".entry" | ".func" => {
                    let function = self.function(word == ".entry", line)?;
                    // A declaration before the definition adds nothing.
                    module.functions.retain(|f| f.name != function.name || f.body.is_some());
                    if function.body.is_some() || !module.functions.iter().any(|f| f.name == function.name) {
                        module.functions.push(function);
                    }
                    return Ok(());
                }
                ".global" | ".const" | ".shared" => {
                    let mut variables = self.variables(&word[1..], external)?;
                    module.variables.append(&mut variables);
                    return Ok(());
                }
                ".alias" => return self.skip_statement(),
                other => {
                    return Err(Error::unsupported(line, other, "no such directive at module scope is known"));
                }
            }
        }
    }

    fn function(&mut self, entry: bool, line: u32) -> Result<Function> {
        let mut f = Function { entry, line, ..Function::default() };
        if self.is('(') {
            f.returns = self.params()?;
        }
        f.name = self.word()?;
        if self.is('(') {
            f.params = self.params()?;
        }
        while let Some(Token::Word(word)) = self.peek().cloned() {
            self.at += 1;
            let mut numbers = Vec::new();
            while matches!(self.peek(), Some(Token::Number(_))) {
                numbers.push(self.number()?);
                if !self.accept(',') {
                    break;
                }
            }
            if word == ".pragma" {
                self.skip_statement()?;
            }
            f.directives.push((word, numbers));
        }
        if self.accept(';') {
            return Ok(f);
        }
        self.expect('{')?;
        f.body = Some(self.body()?);
        Ok(f)
    }

    fn params(&mut self) -> Result<Vec<Variable>> {
        self.expect('(')?;
        let mut out = Vec::new();
        while !self.accept(')') {
            let line = self.line();
            let word = self.word()?;
            if word != ".param" && word != ".reg" {
                return Err(Error::syntax(line, format!("expected `.param`, found `{word}`")));
            }
            out.push(self.variable(&word[1..], false)?.0);
            self.accept(',');
        }
        Ok(out)
    }

    fn variables(&mut self, space: &str, external: bool) -> Result<Vec<Variable>> {
        let (first, template) = self.variable(space, external)?;
        let mut out = vec![first];
        while self.accept(',') {
            let mut v = template.clone();
            self.declarator(&mut v)?;
            out.push(v);
        }
        self.expect(';')?;
        Ok(out)
    }

    /// One variable after its state space, and its type and alignment without a name.
    fn variable(&mut self, space: &str, external: bool) -> Result<(Variable, Variable)> {
        let mut v = Variable { space: space.to_string(), external, count: 1, line: self.line(), ..Variable::default() };
        let mut pointer = false;
        let mut lanes = 1;
        while let Some(Token::Word(word)) = self.peek().cloned() {
            if !word.starts_with('.') {
                break;
            }
            self.at += 1;
            match word.as_str() {
                ".align" => {
                    let align = self.number()?;
                    // `.ptr .align n` is the alignment of what the pointer points to.
                    if !pointer {
                        v.align = align;
                    }
                }
                ".ptr" => pointer = true,
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                ".global" | ".const" | ".shared" | ".local" if pointer => {}
                w if w.starts_with(".attribute") => {
                    self.expect('(')?;
                    while !self.accept(')') {
                        self.next()?;
                    }
                }
                w => v.ty = w[1..].to_string(),
            }
        }
        v.count = lanes;
        let template = v.clone();
        self.declarator(&mut v)?;
        Ok((v, template))
    }

    fn declarator(&mut self, v: &mut Variable) -> Result<()> {
        v.name = self.word()?;
        while self.accept('[') {
            let n = if self.is(']') { 0 } else { self.number()? };
            v.count = v.count.saturating_mul(n);
            self.expect(']')?;
        }
        if self.accept('=') {
            self.initialiser(&mut v.init)?;
        }
        Ok(())
    }

    fn initialiser(&mut self, out: &mut Vec<Init>) -> Result<()> {
        if self.accept('{') {
            while !self.accept('}') {
                self.initialiser(out)?;
                self.accept(',');
            }
            return Ok(());
        }
        if let Some(Token::Word(word)) = self.peek().cloned() {
            self.at += 1;
            let wrapped = word == "generic" && self.accept('(');
            let symbol = if wrapped { self.word()? } else { word };
            let offset = if self.accept('+') { self.number()? as i64 } else { 0 };
            if wrapped {
                self.expect(')')?;
            }
            let more = if self.accept('+') { self.number()? as i64 } else { 0 };
            out.push(Init::Symbol(symbol, offset + more));
            return Ok(());
        }
        let n = self.number()?;
        out.push(Init::Number(n));
        Ok(())
    }

    fn body(&mut self) -> Result<Vec<Statement>> {
        let mut out = Vec::new();
        let mut depth = 0;
        loop {
            if self.accept('{') {
                depth += 1;
                out.push(Statement::Open);
            } else if self.accept('}') {
                if depth == 0 {
                    return Ok(out);
                }
                depth -= 1;
                out.push(Statement::Close);
            } else if !self.accept(';') {
                self.statement(&mut out)?;
            }
        }
    }

    fn statement(&mut self, out: &mut Vec<Statement>) -> Result<()> {
        let line = self.line();
        if self.is('@') {
            out.push(Statement::Instruction(self.instruction()?));
            return Ok(());
        }
        let word = self.directive()?;
        if self.accept(':') {
            return self.label(word, line, out);
        }
        match word.as_str() {
            ".reg" => self.registers(out),
            ".loc" => self.location(out),
            ".pragma" => self.skip_statement(),
            ".shared" | ".local" | ".param" | ".global" | ".const" => {
                let variables = self.variables(&word[1..], false)?;
                out.extend(variables.into_iter().map(Statement::Variable));
                Ok(())
            }
            w if w.starts_with('.') => Err(Error::unsupported(line, w, "no such directive inside a function is known")),
            _ => {
                self.at -= 1;
                out.push(Statement::Instruction(self.instruction()?));
                Ok(())
            }
        }
    }

    /// A word; of `.reg.b32`, a state space with its type in one, the first half.
    fn directive(&mut self) -> Result<String> {
        let word = self.word()?;
        let spaces = [".reg", ".shared", ".local", ".param", ".global", ".const"];
        let rest = spaces.iter().find_map(|s| Some((*s, word.strip_prefix(s).filter(|r| r.starts_with('.'))?)));
        if let (Some((space, rest)), Some(slot)) = (rest, self.tokens.get_mut(self.at - 1)) {
            slot.0 = Token::Word(rest.to_string());
            self.at -= 1;
            return Ok(space.to_string());
        }
        Ok(word)
    }

    /// `(.param ...) _ (.param ...)`: how many results and parameters a function has.
    fn prototype(&mut self, name: String, out: &mut Vec<Statement>) -> Result<()> {
        self.at += 1;
        let returns = if self.is('(') { self.params()?.len() } else { 0 };
        self.word()?;
        let params = if self.is('(') { self.params()?.len() } else { 0 };
        self.skip_statement()?;
        out.push(Statement::Prototype(name, returns, params));
        Ok(())
    }

    fn label(&mut self, name: String, line: u32, out: &mut Vec<Statement>) -> Result<()> {
        if self.peek() == Some(&Token::Word(".callprototype".into())) {
            return self.prototype(name, out);
        }
        if self.peek() == Some(&Token::Word(".calltargets".into())) {
            // All functions that fit are tried.
            return self.skip_statement();
        }
        if self.peek() != Some(&Token::Word(".branchtargets".into())) {
            out.push(Statement::Label(name, line));
            return Ok(());
        }
        self.at += 1;
        let mut targets = vec![self.word()?];
        while self.accept(',') {
            targets.push(self.word()?);
        }
        self.expect(';')?;
        out.push(Statement::BranchTargets(name, targets, line));
        Ok(())
    }

    fn registers(&mut self, out: &mut Vec<Statement>) -> Result<()> {
        let mut ty = self.word()?;
        if ty == ".v2" || ty == ".v4" {
            return Err(Error::unsupported(self.line(), format!(".reg {ty}"), "vector registers are not"));
        }
        ty.remove(0);
        loop {
            let name = self.word()?;
            let mut count = None;
            if self.accept('<') {
                count = Some(self.number()?);
                self.expect('>')?;
            }
            out.push(Statement::Registers(ty.clone(), name, count, self.line()));
            if !self.accept(',') {
                break;
            }
        }
        self.expect(';')
    }

    fn location(&mut self, out: &mut Vec<Statement>) -> Result<()> {
        let file = self.number()? as u32;
        let line = self.number()? as u32;
        self.number()?;
        out.push(Statement::Location(file, line));
        // `, function_name label+n, inlined_at f l c`
        while self.accept(',') {
            self.word()?;
            if matches!(self.peek(), Some(Token::Word(_))) {
                self.word()?;
            }
            self.accept('+');
            while matches!(self.peek(), Some(Token::Number(_))) {
                self.number()?;
            }
        }
        Ok(())
    }

    fn instruction(&mut self) -> Result<Instruction> {
        let line = self.line();
        let mut guard = None;
        if self.accept('@') {
            let negated = self.accept('!');
            guard = Some((self.word()?, negated));
        }
        let opcode = self.word()?;
        let parts = opcode.split('.').map(str::to_string).collect();
        let mut operands = Vec::new();
        while !self.accept(';') {
            operands.push(self.operand()?);
            if !self.accept(',') {
                self.expect(';')?;
                break;
            }
        }
        Ok(Instruction { guard, parts, operands, line })
    }

    fn list(&mut self, close: char) -> Result<Vec<Operand>> {
        let mut out = Vec::new();
        while !self.accept(close) {
            out.push(self.operand()?);
            if !self.accept(',') {
                self.expect(close)?;
                break;
            }
        }
        Ok(out)
    }

    fn operand(&mut self) -> Result<Operand> {
        let line = self.line();
        if self.accept('{') {
            return Ok(Operand::Vector(self.list('}')?));
        }
        if self.accept('[') {
            return Ok(Operand::Address(self.list(']')?));
        }
        if self.accept('(') {
            return Ok(Operand::List(self.list(')')?));
        }
        if self.accept('!') {
            return Ok(Operand::Not(self.word()?));
        }
        match self.peek() {
            Some(Token::Word(_)) => {
                let name = self.word()?;
                if name == "generic" && self.accept('(') {
                    let inner = self.word()?;
                    self.expect(')')?;
                    return Ok(Operand::Name(inner));
                }
                if self.accept('|') {
                    return Ok(Operand::Pair(name, self.word()?));
                }
                if self.accept('+') {
                    return Ok(Operand::Offset(name, self.number()? as i64));
                }
                if self.accept('-') {
                    return Ok(Operand::Offset(name, (self.number()? as i64).wrapping_neg()));
                }
                Ok(Operand::Name(name))
            }
            Some(Token::Number(_) | Token::Mark('-')) => Ok(Operand::Number(self.number()?)),
            other => {
                let found = other.map_or("the end of the text".to_string(), show);
                Err(Error::syntax(line, format!("expected an operand, found {found}")))
            }
        }
    }
}

fn show(token: &Token) -> String {
    match token {
        Token::Word(w) => format!("`{w}`"),
        Token::Number(n) => format!("`{n}`"),
        Token::Text(t) => format!("\"{t}\""),
        Token::Mark(c) => format!("`{c}`"),
    }
}
