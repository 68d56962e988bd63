//! Words in expressions: columns, and calls of functions.

use std::rc::Rc;

use sql::TokenKind;

use super::super::ast::{Aggregate, Early, Expr, Function, Operator, WaitingFunction};
use super::super::error::{SqlError, SqlResult};
use super::super::value::Value;
use super::Parser;

/// Functions by their names, with the least and the greatest number of arguments.
const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("connection_id", Function::ConnectionId, 0, 0),
    ("last_insert_id", Function::LastInsertId, 0, 1),
    ("row_count", Function::RowCount, 0, 0),
    ("found_rows", Function::FoundRows, 0, 0),
    ("database", Function::Database, 0, 0),
    ("schema", Function::Database, 0, 0),
    ("current_user", Function::CurrentUser, 0, 0),
    ("user", Function::User, 0, 0),
    ("session_user", Function::User, 0, 0),
    ("system_user", Function::User, 0, 0),
    ("version", Function::Version, 0, 0),
    ("release_lock", Function::ReleaseLock, 1, 1),
    ("release_all_locks", Function::ReleaseAllLocks, 0, 0),
    ("is_free_lock", Function::IsFreeLock, 1, 1),
    ("is_used_lock", Function::IsUsedLock, 1, 1),
    ("if", Function::If, 3, 3),
    ("ifnull", Function::IfNull, 2, 2),
    ("nullif", Function::NullIf, 2, 2),
    ("coalesce", Function::Coalesce, 1, 99),
    ("concat", Function::Concat, 1, 99),
    ("concat_ws", Function::ConcatWs, 2, 99),
    ("length", Function::Length, 1, 1),
    ("octet_length", Function::OctetLength, 1, 1),
    ("upper", Function::Upper, 1, 1),
    ("lower", Function::Lower, 1, 1),
    ("hex", Function::Hex, 1, 1),
    ("repeat", Function::Repeat, 2, 2),
    ("abs", Function::Abs, 1, 1),
    ("mod", Function::Mod, 2, 2),
    ("greatest", Function::Greatest, 2, 99),
    ("least", Function::Least, 2, 99),
    ("now", Function::Now, 0, 1),
    ("current_timestamp", Function::Now, 0, 1),
    ("unix_timestamp", Function::UnixTimestamp, 0, 0),
    ("uuid", Function::Uuid, 0, 0),
    ("rand", Function::Rand, 0, 1),
    ("charset", Function::Charset, 1, 1),
    ("collation", Function::Collation, 1, 1),
    ("gtid_subset", Function::GtidSubset, 2, 2),
];

const WAITING: &[(&str, WaitingFunction, usize, usize)] = &[
    ("sleep", WaitingFunction::Sleep, 1, 1),
    ("get_lock", WaitingFunction::GetLock, 2, 2),
    (
        "wait_for_executed_gtid_set",
        WaitingFunction::WaitForGtids,
        1,
        2,
    ),
    ("master_gtid_wait", WaitingFunction::MasterGtidWait, 1, 2),
];

const AGGREGATES: &[(&str, Aggregate)] = &[
    ("count", Aggregate::Count),
    ("sum", Aggregate::Sum),
    ("max", Aggregate::Max),
    ("min", Aggregate::Min),
];

impl Parser<'_> {
    /// A column, a call, or a literal that is a word.
    pub(super) fn word(&mut self) -> SqlResult<Expr> {
        let is_word = self.token.kind == TokenKind::Word;
        if is_word && self.peek().kind == TokenKind::Open {
            return self.call();
        }
        let literal = match () {
            () if self.is("null") => Some(Value::Null),
            () if self.is("true") => Some(Value::Int(1)),
            () if self.is("false") => Some(Value::Int(0)),
            () => None,
        };
        if let Some(literal) = literal {
            self.advance();
            return Ok(Expr::Literal(literal));
        }
        for (name, function) in [
            ("current_user", Function::CurrentUser),
            ("current_timestamp", Function::Now),
        ] {
            if self.eat(name) {
                return Ok(Expr::Call(function, Vec::new()));
            }
        }
        let mut name = self.name()?;
        let mut table = None;
        while self.eat_kind(TokenKind::Dot) {
            table = Some(name);
            name = self.take_name();
        }
        Ok(Expr::Column(table, name))
    }

    fn call(&mut self) -> SqlResult<Expr> {
        let written = String::from_utf8_lossy(self.bytes()).into_owned();
        let name = written.to_ascii_lowercase();
        if is_no_function(&name) {
            return Err(self.error());
        }
        self.advance();
        if let Some((_, aggregate)) = AGGREGATES.iter().find(|(of, _)| *of == name) {
            return self.aggregate(*aggregate);
        }
        match name.as_str() {
            "cast" => return self.cast(),
            "values" => return self.values_of(),
            _ => {}
        }
        self.expect_kind(TokenKind::Open)?;
        let arguments = match self.token.kind {
            TokenKind::Close => Vec::new(),
            _ => self.list(Self::expression)?,
        };
        self.expect_kind(TokenKind::Close)?;
        let count = arguments.len();
        let fits = |least: usize, greatest: usize| (least..=greatest).contains(&count);
        if let Some((_, function, least, greatest)) = FUNCTIONS.iter().find(|it| it.0 == name) {
            return match fits(*least, *greatest) {
                true => Ok(self.plain(*function, arguments)),
                false => Err(self.argument_count(&written)),
            };
        }
        let is_mariadb = self.reading.family.is_mariadb();
        let known = WAITING.iter().find(|it| it.0 == name);
        let known = known.filter(|it| match it.1 {
            WaitingFunction::WaitForGtids => !is_mariadb,
            WaitingFunction::MasterGtidWait => is_mariadb,
            _ => true,
        });
        match known {
            Some((_, function, least, greatest)) if fits(*least, *greatest) => {
                self.early.push(Early::Call(*function, arguments));
                Ok(Expr::Early(self.early.len() - 1))
            }
            Some(_) => Err(self.argument_count(&written)),
            None => {
                let text = format!("FUNCTION {written} does not exist");
                Err(SqlError::new(self.reading.family, 1305, text))
            }
        }
    }

    /// MOD is an operator as well.
    fn plain(&self, function: Function, mut arguments: Vec<Expr>) -> Expr {
        match (function, arguments.len()) {
            (Function::Mod, 2) => {
                let divisor = arguments.pop().unwrap_or(Expr::Literal(Value::Null));
                let dividend = arguments.pop().unwrap_or(Expr::Literal(Value::Null));
                super::expression::binary(Operator::Modulo, dividend, divisor)
            }
            _ => Expr::Call(function, arguments),
        }
    }

    fn argument_count(&self, name: &str) -> SqlError {
        let text = format!("Incorrect parameter count in the call to native function '{name}'");
        SqlError::new(self.reading.family, 1582, text)
    }

    fn aggregate(&mut self, aggregate: Aggregate) -> SqlResult<Expr> {
        self.expect_kind(TokenKind::Open)?;
        let is_star = aggregate == Aggregate::Count && self.eat_kind(TokenKind::Star);
        let argument = match is_star {
            true => None,
            false => Some(Box::new(self.expression()?)),
        };
        self.expect_kind(TokenKind::Close)?;
        Ok(Expr::Aggregate(aggregate, argument))
    }

    /// `CAST(… AS SIGNED)`.
    fn cast(&mut self) -> SqlResult<Expr> {
        self.expect_kind(TokenKind::Open)?;
        let operand = self.expression()?;
        self.expect("as")?;
        let function = match () {
            () if self.eat("signed") => Function::CastSigned,
            () if self.eat("unsigned") => Function::CastUnsigned,
            () if self.eat("char") => Function::CastChar,
            () if self.eat("binary") => Function::CastBinary,
            () => return Err(self.error()),
        };
        self.eat("integer");
        self.expect_kind(TokenKind::Close)?;
        Ok(Expr::Call(function, vec![operand]))
    }

    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE.
    fn values_of(&mut self) -> SqlResult<Expr> {
        self.expect_kind(TokenKind::Open)?;
        let name = self.name()?;
        self.expect_kind(TokenKind::Close)?;
        Ok(Expr::Call(
            Function::Values,
            vec![Expr::Column(None, Rc::clone(&name))],
        ))
    }
}

/// Words before a parenthesis that are no calls.
fn is_no_function(name: &str) -> bool {
    matches!(
        name,
        "select"
            | "in"
            | "and"
            | "or"
            | "not"
            | "from"
            | "where"
            | "exists"
            | "case"
            | "as"
            | "on"
            | "using"
    )
}
