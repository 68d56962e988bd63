//! Expressions.

use std::rc::Rc;

use sql::TokenKind;

use super::super::ast::{Early, Expr, Name, Operator, Scope};
use super::super::error::SqlResult;
use super::super::value::Value;
use super::Parser;

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expression(&mut self) -> SqlResult<Expr> {
        if self.token.kind == TokenKind::UserVariable && self.peek().kind == TokenKind::Assign {
            let name = self.user_variable();
            self.advance();
            return Ok(Expr::AssignUser(name, Box::new(self.expression()?)));
        }
        self.disjunction()
    }

    fn disjunction(&mut self) -> SqlResult<Expr> {
        let mut left = self.conjunction()?;
        loop {
            let operator = match () {
                () if self.eat("or") || self.eat_operator(b"||") => Operator::Or,
                () if self.eat("xor") => Operator::Xor,
                () => return Ok(left),
            };
            left = binary(operator, left, self.conjunction()?);
        }
    }

    fn conjunction(&mut self) -> SqlResult<Expr> {
        let mut left = self.negation()?;
        while self.eat("and") || self.eat_operator(b"&&") {
            left = binary(Operator::And, left, self.negation()?);
        }
        Ok(left)
    }

    fn negation(&mut self) -> SqlResult<Expr> {
        match self.eat("not") || self.eat_operator(b"!") {
            true => Ok(Expr::Not(Box::new(self.negation()?))),
            false => self.comparison(),
        }
    }

    fn comparison(&mut self) -> SqlResult<Expr> {
        let mut left = self.sum()?;
        loop {
            if let Some(operator) = self.comparison_operator() {
                left = binary(operator, left, self.sum()?);
                continue;
            }
            left = match self.predicate(left)? {
                Ok(more) => more,
                Err(whole) => return Ok(whole),
            };
        }
    }

    fn comparison_operator(&mut self) -> Option<Operator> {
        let operator = match (self.token.kind, self.bytes()) {
            (TokenKind::Equal, _) => Operator::Equal,
            (TokenKind::Operator, b"<=>") => Operator::NullSafeEqual,
            (TokenKind::Operator, b"<>" | b"!=") => Operator::NotEqual,
            (TokenKind::Operator, b"<") => Operator::Less,
            (TokenKind::Operator, b"<=") => Operator::LessOrEqual,
            (TokenKind::Operator, b">") => Operator::Greater,
            (TokenKind::Operator, b">=") => Operator::GreaterOrEqual,
            _ => return None,
        };
        self.advance();
        Some(operator)
    }

    /// IS NULL, IN, BETWEEN, LIKE behind an operand; the operand itself, as an error, if nothing of it follows.
    fn predicate(&mut self, left: Expr) -> SqlResult<Result<Expr, Expr>> {
        if self.eat("is") {
            let is_not = self.eat("not");
            self.expect("null")?;
            return Ok(Ok(Expr::IsNull(Box::new(left), is_not)));
        }
        let is_not = self.is("not");
        if is_not && !["in", "between", "like"].iter().any(|it| self.is_next(it)) {
            return Ok(Err(left));
        }
        if is_not {
            self.advance();
        }
        if self.eat("in") {
            let list = self.enclosed(Self::expression)?;
            return Ok(Ok(Expr::In(Box::new(left), list, is_not)));
        }
        if self.eat("like") {
            let pattern = Box::new(self.sum()?);
            return Ok(Ok(Expr::Like(Box::new(left), pattern, is_not)));
        }
        if self.is("between") {
            return self.between(left, is_not).map(Ok);
        }
        Ok(Err(left))
    }

    /// `a BETWEEN b AND c`, for an operand without effects: it stands twice in what comes of it.
    fn between(&mut self, left: Expr, is_not: bool) -> SqlResult<Expr> {
        let Some(again) = copy(&left) else {
            return Err(self.error());
        };
        self.expect("between")?;
        let low = self.sum()?;
        self.expect("and")?;
        let high = self.sum()?;
        let both = binary(
            Operator::And,
            binary(Operator::GreaterOrEqual, left, low),
            binary(Operator::LessOrEqual, again, high),
        );
        Ok(match is_not {
            true => Expr::Not(Box::new(both)),
            false => both,
        })
    }

    fn sum(&mut self) -> SqlResult<Expr> {
        let mut left = self.product()?;
        loop {
            let operator = match self.token.kind {
                TokenKind::Plus => Operator::Add,
                TokenKind::Minus => Operator::Subtract,
                _ => return Ok(left),
            };
            self.advance();
            left = binary(operator, left, self.product()?);
        }
    }

    fn product(&mut self) -> SqlResult<Expr> {
        let mut left = self.unary()?;
        loop {
            let operator = match self.token.kind {
                TokenKind::Star => Operator::Multiply,
                TokenKind::Operator if self.bytes() == b"/" => Operator::Divide,
                TokenKind::Operator if self.bytes() == b"%" => Operator::Modulo,
                TokenKind::Word if self.is("div") => Operator::IntegerDivide,
                TokenKind::Word if self.is("mod") => Operator::Modulo,
                _ => return Ok(left),
            };
            self.advance();
            left = binary(operator, left, self.unary()?);
        }
    }

    fn unary(&mut self) -> SqlResult<Expr> {
        if self.eat_kind(TokenKind::Plus) {
            return self.unary();
        }
        if !self.eat_kind(TokenKind::Minus) {
            return self.collated();
        }
        Ok(match self.unary()? {
            Expr::Literal(Value::Int(number)) => Expr::Literal(Value::Int(-number)),
            Expr::Literal(Value::Unsigned(number)) if number == 1 << 63 => {
                Expr::Literal(Value::Int(i64::MIN))
            }
            Expr::Literal(Value::Decimal(digits, scale)) => {
                Expr::Literal(Value::Decimal(-digits, scale))
            }
            other => Expr::Negative(Box::new(other)),
        })
    }

    fn collated(&mut self) -> SqlResult<Expr> {
        let mut operand = self.primary()?;
        while self.eat("collate") {
            operand = Expr::Collate(Box::new(operand), self.name_or_string()?);
        }
        Ok(operand)
    }

    fn primary(&mut self) -> SqlResult<Expr> {
        match self.token.kind {
            TokenKind::Number => self.number(),
            TokenKind::String => self.string().map(Expr::Literal),
            TokenKind::Binary => {
                let bytes = self.binary_literal()?;
                Ok(Expr::Literal(Value::Binary(Rc::from(bytes))))
            }
            TokenKind::Introducer => self.introduced(),
            TokenKind::BackslashNull => {
                self.advance();
                Ok(Expr::Literal(Value::Null))
            }
            TokenKind::UserVariable => Ok(Expr::User(self.user_variable())),
            TokenKind::SystemVariable => self.system_variable(),
            TokenKind::Placeholder => self.placeholder(),
            TokenKind::Open => self.parenthesis(),
            TokenKind::Word | TokenKind::Quoted => self.word(),
            _ => Err(self.error()),
        }
    }

    fn placeholder(&mut self) -> SqlResult<Expr> {
        if !self.reading.is_prepared || self.parameters == u16::MAX {
            return Err(self.error());
        }
        self.advance();
        self.parameters += 1;
        Ok(Expr::Parameter(self.parameters - 1))
    }

    fn parenthesis(&mut self) -> SqlResult<Expr> {
        self.advance();
        let inner = match self.is("select") {
            true => {
                let outer = self.take_early();
                let select = self.select()?;
                self.early = outer;
                self.early.push(Early::Subquery(Box::new(select)));
                Expr::Early(self.early.len() - 1)
            }
            false => self.expression()?,
        };
        self.expect_kind(TokenKind::Close)?;
        Ok(inner)
    }

    fn number(&mut self) -> SqlResult<Expr> {
        let text = String::from_utf8_lossy(self.bytes()).into_owned();
        let value = number(&text).ok_or_else(|| self.error())?;
        self.advance();
        Ok(Expr::Literal(value))
    }

    pub(super) fn string(&mut self) -> SqlResult<Value> {
        let mut all = Vec::new();
        while self.token.kind == TokenKind::String {
            let text = sql::unquote(self.bytes(), self.reading.flags);
            all.extend_from_slice(&text.ok_or_else(|| self.error())?);
            self.advance();
        }
        Ok(Value::text(all))
    }

    /// `0x…`, `x'…'`.
    fn binary_literal(&mut self) -> SqlResult<Vec<u8>> {
        let bytes = self.bytes();
        let digits = match bytes {
            [b'0', b'x', digits @ ..] | [b'x' | b'X', b'\'', digits @ .., b'\''] => digits,
            _ => return Err(self.error()),
        };
        let padded = match digits.len() % 2 {
            0 => digits.to_vec(),
            _ => [b"0", digits].concat(),
        };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let pairs = padded.chunks(2).map(|pair| match *pair {
            [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
            _ => None,
        });
        let bytes = pairs.collect::<Option<_>>().ok_or_else(|| self.error())?;
        self.advance();
        Ok(bytes)
    }

    /// `_utf8mb4 'x'`, `_utf8mb4 0x78`.
    fn introduced(&mut self) -> SqlResult<Expr> {
        let is_binary = self.bytes().eq_ignore_ascii_case(b"_binary");
        self.advance();
        let bytes = match self.token.kind {
            TokenKind::String => self.string()?.to_bytes(),
            TokenKind::Binary => self.binary_literal()?,
            _ => return Err(self.error()),
        };
        Ok(Expr::Literal(match is_binary {
            true => Value::Binary(Rc::from(bytes)),
            false => Value::text(bytes),
        }))
    }

    /// The name of a user variable, in lower case.
    pub(super) fn user_variable(&mut self) -> Name {
        let name = self.token.span.name(self.text).to_ascii_lowercase();
        self.advance();
        Rc::from(String::from_utf8_lossy(&name))
    }

    fn system_variable(&mut self) -> SqlResult<Expr> {
        let (scope, name) = self.system_name()?;
        Ok(Expr::System(scope, name))
    }

    /// `@@x`, `@@session.x`.
    pub(super) fn system_name(&mut self) -> SqlResult<(Scope, Name)> {
        let first = self.token.span.name(self.text).to_ascii_lowercase();
        self.advance();
        let scope = match &*first {
            b"session" | b"local" => Scope::Session,
            b"global" => Scope::Global,
            _ => Scope::Unsaid,
        };
        let is_scope = scope != Scope::Unsaid && self.eat_kind(TokenKind::Dot);
        let name = match is_scope {
            true => self.take_name().to_ascii_lowercase(),
            false => String::from_utf8_lossy(&first).into_owned(),
        };
        Ok((scope, Rc::from(name)))
    }

    fn eat_operator(&mut self, operator: &[u8]) -> bool {
        let is = self.token.kind == TokenKind::Operator && self.bytes() == operator;
        if is {
            self.advance();
        }
        is
    }
}

pub(super) fn binary(operator: Operator, left: Expr, right: Expr) -> Expr {
    Expr::Binary(operator, Box::new(left), Box::new(right))
}

/// An operand again that has no effect.
fn copy(of: &Expr) -> Option<Expr> {
    Some(match of {
        Expr::Literal(value) => Expr::Literal(value.clone()),
        Expr::Parameter(number) => Expr::Parameter(*number),
        Expr::Column(table, name) => Expr::Column(table.clone(), name.clone()),
        Expr::User(name) => Expr::User(name.clone()),
        _ => return None,
    })
}

fn number(text: &str) -> Option<Value> {
    if text.bytes().all(|it| it.is_ascii_digit()) {
        return Some(match (text.parse::<i64>(), text.parse::<u64>()) {
            (Ok(number), _) => Value::Int(number),
            (_, Ok(number)) => Value::Unsigned(number),
            _ => Value::Decimal(text.parse().ok()?, 0),
        });
    }
    if text.contains(['e', 'E']) {
        return text.parse().ok().map(Value::Double);
    }
    let (whole, fraction) = text.split_once('.')?;
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some(Value::Decimal(digits, u8::try_from(fraction.len()).ok()?))
}
