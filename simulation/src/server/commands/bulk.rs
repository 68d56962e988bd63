//! COM_STMT_BULK_EXECUTE (MariaDB): a prepared statement, once for each row of parameters.

use std::rc::Rc;

use wire::execute::BulkExecute;

use super::super::binding::bulk_rows;
use super::super::error::SqlResult;
use super::super::output::{Done, Follows, Outcome, Output};
use super::super::parser::Parsed;
use super::super::session::Session;
use super::super::value::Value;

impl Session {
    /// Executes a prepared statement with each row.
    pub(super) async fn bulk_execute(
        &mut self,
        arguments: &[u8],
        out: &mut Output,
    ) -> SqlResult<()> {
        let (parsed, rows) = self.bind_rows(arguments)?;
        let mut sum = Done::default();
        for values in rows {
            if let Outcome::Done(done) = self.execute(&parsed, &values).await? {
                sum.affected += done.affected;
                sum.insert_id = sum.insert_id.max(done.insert_id);
            }
        }
        self.write_done(out, &sum, Follows::Nothing);
        Ok(())
    }

    /// The rows of parameters of a bulk execution.
    fn bind_rows(&mut self, arguments: &[u8]) -> SqlResult<(Rc<Parsed>, Vec<Vec<Value>>)> {
        const OF: &str = "mysqld_stmt_bulk_execute";
        let id = self.known_statement(arguments, OF)?;
        let family = self.family();
        let malformed = || family.wrong_arguments(OF);
        let Some(statement) = self.prepared.by_id.get(&id) else {
            return Err(family.unknown_statement(id, OF));
        };
        let bulk = BulkExecute::decode(arguments).map_err(|_| malformed())?;
        let rows = bulk_rows(&bulk, statement.parsed.parameters, &statement.types);
        let rows = rows.map_err(|_| malformed())?;
        Ok((Rc::clone(&statement.parsed), rows))
    }
}
