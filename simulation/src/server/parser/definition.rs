//! CREATE, DROP, TRUNCATE.

use std::rc::Rc;

use sql::TokenKind;

use super::super::ast::{ColumnKind, ColumnSpec, CreateTable, Definition, Expr, Name, Statement};
use super::super::error::SqlResult;
use super::super::value::Value;
use super::Parser;

impl Parser<'_> {
    pub(super) fn definition(&mut self) -> SqlResult<Statement> {
        let definition = match () {
            () if self.eat("truncate") => {
                self.eat("table");
                Definition::Truncate(self.plain_table_name()?)
            }
            () if self.eat("drop") => self.drop()?,
            () => {
                self.expect("create")?;
                self.create()?
            }
        };
        Ok(Statement::Definition(definition))
    }

    fn drop(&mut self) -> SqlResult<Definition> {
        if self.eat("database") || self.eat("schema") {
            let if_exists = self.eat_all(&["if", "exists"])?;
            return Ok(Definition::DropSchema(self.name()?, if_exists));
        }
        let temporary = self.eat("temporary");
        self.expect("table")?;
        let if_exists = self.eat_all(&["if", "exists"])?;
        Ok(Definition::DropTables {
            names: self.list(Self::plain_table_name)?,
            temporary,
            if_exists,
        })
    }

    fn create(&mut self) -> SqlResult<Definition> {
        if self.eat("database") || self.eat("schema") {
            let if_not_exists = self.eat_all(&["if", "not", "exists"])?;
            return Ok(Definition::CreateSchema(self.name()?, if_not_exists));
        }
        let temporary = self.eat("temporary");
        self.expect("table")?;
        let if_not_exists = self.eat_all(&["if", "not", "exists"])?;
        let name = self.plain_table_name()?;
        let mut primary_key = Vec::new();
        let columns = self.enclosed(|it| it.column_or_key(&mut primary_key))?;
        self.table_options()?;
        Ok(Definition::CreateTable(CreateTable {
            name,
            temporary,
            if_not_exists,
            columns: columns.into_iter().flatten().collect(),
            primary_key,
        }))
    }

    /// `ENGINE = InnoDB`, `DEFAULT CHARSET = utf8mb4`: of which the model has no other.
    fn table_options(&mut self) -> SqlResult<()> {
        if self.eat("engine") {
            self.eat_kind(TokenKind::Equal);
            self.expect("innodb")?;
        }
        self.eat("default");
        if self.eat("charset") || self.eat_all(&["character", "set"])? {
            self.eat_kind(TokenKind::Equal);
            self.expect("utf8mb4")?;
        }
        if self.eat_all(&["data", "directory"])? {
            self.eat_kind(TokenKind::Equal);
            self.expect_kind(TokenKind::String)?;
        }
        Ok(())
    }

    /// A column, or PRIMARY KEY (…).
    fn column_or_key(&mut self, primary_key: &mut Vec<Name>) -> SqlResult<Option<ColumnSpec>> {
        if self.eat_all(&["primary", "key"])? {
            *primary_key = self.enclosed(Self::name)?;
            return Ok(None);
        }
        let mut column = ColumnSpec {
            name: self.name()?,
            kind: self.column_kind()?,
            not_null: false,
            default: None,
            auto_increment: false,
        };
        loop {
            match () {
                () if self.eat_all(&["not", "null"])? => column.not_null = true,
                () if self.eat("null") => {}
                () if self.eat("auto_increment") => column.auto_increment = true,
                () if self.eat("default") => match self.expression()? {
                    Expr::Literal(value) => column.default = Some(value),
                    _ => return Err(self.error()),
                },
                () if self.eat_all(&["primary", "key"])? => {
                    primary_key.push(Rc::clone(&column.name));
                }
                () => return Ok(Some(column)),
            }
        }
    }

    fn column_kind(&mut self) -> SqlResult<ColumnKind> {
        let integers = [
            ("tinyint", 1),
            ("smallint", 2),
            ("int", 4),
            ("integer", 4),
            ("bigint", 8),
        ];
        for (word, bytes) in integers {
            if self.eat(word) {
                self.length()?;
                return Ok(ColumnKind::Integer(bytes, self.eat("unsigned")));
            }
        }
        let wanted = |length: Option<u32>, it: &Self| length.ok_or_else(|| it.error());
        Ok(match () {
            () if self.eat("varchar") => {
                let length = self.length()?;
                ColumnKind::Varchar(wanted(length, self)?)
            }
            () if self.eat("char") => ColumnKind::Varchar(self.length()?.unwrap_or(1)),
            () if self.eat("varbinary") => {
                let length = self.length()?;
                ColumnKind::Varbinary(wanted(length, self)?)
            }
            () if self.eat("text") => ColumnKind::Text,
            () if self.eat("blob") => ColumnKind::Blob,
            () if self.eat("decimal") => self.decimal()?,
            () => return Err(self.error()),
        })
    }

    fn decimal(&mut self) -> SqlResult<ColumnKind> {
        if self.token.kind != TokenKind::Open {
            return Ok(ColumnKind::Decimal(10, 0));
        }
        let sizes = self.enclosed(Self::size)?;
        let size = |at: usize| sizes.get(at).copied().unwrap_or(0);
        let byte = |size: u32| u8::try_from(size).unwrap_or(u8::MAX);
        Ok(ColumnKind::Decimal(byte(size(0)), byte(size(1))))
    }

    fn length(&mut self) -> SqlResult<Option<u32>> {
        if self.token.kind != TokenKind::Open {
            return Ok(None);
        }
        Ok(self.enclosed(Self::size)?.first().copied())
    }

    fn size(&mut self) -> SqlResult<u32> {
        match self.expression()? {
            Expr::Literal(Value::Int(size)) => u32::try_from(size).map_err(|_| self.error()),
            _ => Err(self.error()),
        }
    }
}
