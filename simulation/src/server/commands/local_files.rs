//! LOAD DATA LOCAL: the server asks the client for a file, and inserts its lines.

use std::rc::Rc;

use wire::reply::LOCAL_INFILE;

use super::super::ast::{Expr, Insert, Statement};
use super::super::output::{Done, Follows, Outcome, Output, Protocol};
use super::super::parser::Parsed;
use super::super::session::Session;
use super::super::value::Value;

impl Session {
    /// Asks for the file that a statement names.
    pub(super) fn ask_for_file(&mut self, parsed: &Rc<Parsed>, file: &str, out: &mut Output) {
        out.packet(|out| {
            out.push(LOCAL_INFILE);
            out.extend_from_slice(file.as_bytes());
        });
        self.upload = Some(Rc::clone(parsed));
    }

    /// Inserts the lines of the file that has come, with tabs between their values.
    pub async fn load_file(&mut self, file: &[u8], out: &mut Output) {
        let Some(parsed) = self.upload.take() else {
            return;
        };
        let Statement::Load(_, table) = &*parsed.statement else {
            return;
        };
        let value = |text: &[u8]| Some(Expr::Literal(Value::text(text)));
        let row = |line: &[u8]| -> Vec<Option<Expr>> {
            line.split(|it| *it == b'\t').map(value).collect()
        };
        let lines = file.split(|it| *it == b'\n').filter(|it| !it.is_empty());
        let insert = Insert {
            table: table.clone(),
            columns: Vec::new(),
            rows: lines.map(row).collect(),
            ignore: false,
            on_duplicate: Vec::new(),
            early: Vec::new(),
        };
        let insertion = Parsed {
            statement: Rc::new(Statement::Insert(insert)),
            text: Rc::clone(&parsed.text),
            parameters: 0,
            next: None,
        };
        match self.execute(&insertion, &[]).await {
            Ok(Outcome::Done(done)) => {
                let records = done.affected;
                let info = format!("Records: {records}  Deleted: 0  Skipped: 0  Warnings: 0");
                self.write_done(out, &Done { info, ..done }, Follows::Nothing);
            }
            Ok(rows) => self.write(out, &rows, Protocol::Text, Follows::Nothing),
            Err(error) => out.error(&error),
        }
    }
}
