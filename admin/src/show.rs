//! SHOW and DESCRIBE: the answers of servers, as queries over the registry's tables.

use crate::dialect::{Text, quoted};
use crate::fault::Fault;
use crate::registry;
use crate::statement::{Statement, unknown};
use crate::table::{Schema, Table};
use crate::tables::information::ENGINE;

type ShowResult = Result<Statement, Fault>;

/// The query for SHOW COLUMNS and DESCRIBE.
const COLUMNS: &str = "SELECT COLUMN_NAME AS \"Field\", COLUMN_TYPE AS \"Type\", IS_NULLABLE AS \"Null\", \
                       COLUMN_KEY AS \"Key\", COLUMN_DEFAULT AS \"Default\", EXTRA AS \"Extra\", \
                       COLUMN_COMMENT AS \"Comment\" FROM information_schema.COLUMNS";

/// The query for SHOW FULL COLUMNS.
const FULL_COLUMNS: &str = "SELECT COLUMN_NAME AS \"Field\", COLUMN_TYPE AS \"Type\", \
                            COLLATION_NAME AS \"Collation\", IS_NULLABLE AS \"Null\", \
                            COLUMN_KEY AS \"Key\", COLUMN_DEFAULT AS \"Default\", EXTRA AS \"Extra\", \
                            PRIVILEGES AS \"Privileges\", COLUMN_COMMENT AS \"Comment\" \
                            FROM information_schema.COLUMNS";

/// The columns of SHOW PROCESSLIST, without the statement.
const PROCESSLIST: &str = "id AS \"Id\", user AS \"User\", client AS \"Host\", db, \
                           CASE state WHEN 'idle' THEN 'Sleep' WHEN 'running' THEN 'Query' ELSE 'Connect' END \
                           AS \"Command\", state_seconds AS \"Time\", \
                           ifnull('pinned: ' || pins, state) AS \"State\"";

/// Reads SHOW and the text after it.
pub fn show(whole: Text<'_>, schema: Schema) -> ShowResult {
    let text = whole
        .rest()
        .without(&["GLOBAL", "SESSION", "LOCAL", "EXTENDED"]);
    let (text, is_full) = match text.behind("FULL") {
        Some(text) => (text, true),
        None => (text, false),
    };
    if let Some(rest) = text.behind("TABLES") {
        return tables(rest, schema, is_full);
    }
    if let Some(rest) = text.behind_any(&["DATABASES", "SCHEMAS"]) {
        let select = "SELECT SCHEMA_NAME AS \"Database\" FROM information_schema.SCHEMATA";
        return filtered(select, "Database", rest);
    }
    if let Some(rest) = text.behind_any(&["COLUMNS", "FIELDS"]) {
        let rest = rest.behind_any(&["FROM", "IN"]).ok_or_else(wrong)?;
        let select = if is_full { FULL_COLUMNS } else { COLUMNS };
        return of_table(select, "Field", rest, schema);
    }
    if let Some(rest) = text.behind("VARIABLES") {
        let select = "SELECT name AS \"Variable_name\", value AS \"Value\" FROM pilotfish.variables ORDER BY 1";
        return filtered(select, "Variable_name", rest);
    }
    if let Some(rest) = text.behind("STATUS") {
        let select =
            "SELECT name AS \"Variable_name\", value AS \"Value\" FROM pilotfish.status ORDER BY 1";
        return filtered(select, "Variable_name", rest);
    }
    if let Some(rest) = text.behind("PROCESSLIST") {
        let info = match is_full {
            true => "statement",
            false => "substr(statement, 1, 100)",
        };
        let select =
            format!("SELECT {PROCESSLIST}, {info} AS \"Info\" FROM pilotfish.sessions ORDER BY id");
        return filtered(&select, "Id", rest);
    }
    if let Some(rest) = text
        .behind("CREATE")
        .and_then(|rest| rest.behind_any(&["TABLE", "VIEW"]))
    {
        let (table, _) = named_table(rest, schema)?;
        return create(table);
    }
    if let Some(rest) = text.behind("REPLICATION") {
        return filtered("SELECT * FROM pilotfish.replication", "stream", rest);
    }
    if text.behind("CHANGES").is_some_and(Text::is_empty) {
        return Ok(Statement::Changes);
    }
    if text.behind_any(&["WARNINGS", "ERRORS"]).is_some() {
        return Ok(Statement::Warnings);
    }
    if text.behind("COUNT").is_some() {
        return Ok(Statement::WarningCount);
    }
    Err(unknown::fault(whole))
}

/// Reads the text after DESCRIBE.
pub fn describe(text: Text<'_>, schema: Schema) -> ShowResult {
    let (table, rest) = named_table(text, schema)?;
    let select = format!("{COLUMNS} WHERE {}", is_of(table));
    match rest.name().or_else(|| rest.string()) {
        None if rest.is_empty() => Ok(Statement::Query(select)),
        Some((column, rest)) if rest.is_empty() => {
            let select = format!("{select} AND COLUMN_NAME LIKE {}", quoted(&column));
            Ok(Statement::Query(select))
        }
        _ => Err(wrong()),
    }
}

fn wrong() -> Fault {
    Fault::syntax("The admin port does not know this SHOW; SELECT * FROM help lists the statements")
}

fn tables(rest: Text<'_>, schema: Schema, is_full: bool) -> ShowResult {
    let (schema, rest) = of_schema(rest, schema)?;
    let kind = match is_full {
        true => ", TABLE_TYPE AS \"Table_type\"",
        false => "",
    };
    let column = format!("Tables_in_{}", schema.name());
    let select = format!(
        "SELECT TABLE_NAME AS \"{column}\"{kind} FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = {} ORDER BY 1",
        quoted(schema.name())
    );
    filtered(&select, &column, rest)
}

/// A query about one table: `table`, `schema.table`, `table FROM schema`.
fn of_table(select: &str, column: &str, rest: Text<'_>, schema: Schema) -> ShowResult {
    let ((named, name), rest) = qualified(rest)?;
    let (table, rest) = match rest.behind_any(&["FROM", "IN"]) {
        Some(_) => {
            let (named, rest) = of_schema(rest, schema)?;
            (find(Some(named.name().to_owned()), &name, schema)?, rest)
        }
        None => (find(named, &name, schema)?, rest),
    };
    let select = format!("{select} WHERE {}", is_of(table));
    filtered(&select, column, rest)
}

/// `FROM schema`, or the current schema.
fn of_schema(rest: Text<'_>, schema: Schema) -> Result<(Schema, Text<'_>), Fault> {
    let Some(rest) = rest.behind_any(&["FROM", "IN"]) else {
        return Ok((schema, rest));
    };
    let (name, rest) = rest.name().ok_or_else(wrong)?;
    let schema = Schema::named(&name).ok_or_else(|| Fault::no_schema(&name))?;
    Ok((schema, rest))
}

type Qualified = (Option<String>, String);

/// `table` or `schema.table`.
fn qualified(text: Text<'_>) -> Result<(Qualified, Text<'_>), Fault> {
    let (first, rest) = text.name().ok_or_else(wrong)?;
    match rest.behind(".") {
        Some(rest) => {
            let (second, rest) = rest.name().ok_or_else(wrong)?;
            Ok(((Some(first), second), rest))
        }
        None => Ok(((None, first), rest)),
    }
}

fn named_table(text: Text<'_>, schema: Schema) -> Result<(&'static dyn Table, Text<'_>), Fault> {
    let ((named, name), rest) = qualified(text)?;
    Ok((find(named, &name, schema)?, rest))
}

/// The table of a name: in the named schema, else in the current schema, else in any.
fn find(named: Option<String>, name: &str, schema: Schema) -> Result<&'static dyn Table, Fault> {
    let found = match named {
        Some(named) => {
            let schema = Schema::named(&named).ok_or_else(|| Fault::no_schema(&named))?;
            registry::table(Some(schema), name)
        }
        None => registry::table(Some(schema), name).or_else(|| registry::table(None, name)),
    };
    found.ok_or_else(|| Fault::no_table(name))
}

fn is_of(table: &dyn Table) -> String {
    format!(
        "TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quoted(table.schema().name()),
        quoted(table.name())
    )
}

/// Narrows a query by LIKE on a column, or by WHERE.
fn filtered(select: &str, column: &str, rest: Text<'_>) -> ShowResult {
    let narrowed = if let Some(rest) = rest.behind("LIKE") {
        let (pattern, rest) = rest.string().ok_or_else(wrong)?;
        if !rest.is_empty() {
            return Err(wrong());
        }
        let pattern = quoted(&pattern);
        format!("SELECT * FROM ({select}) WHERE \"{column}\" LIKE {pattern} ESCAPE '\\'")
    } else if let Some(rest) = rest.behind("WHERE") {
        format!("SELECT * FROM ({select}) WHERE {}", rest.in_sqlite()?)
    } else if rest.is_empty() {
        select.to_owned()
    } else {
        return Err(wrong());
    };
    Ok(Statement::Query(narrowed))
}

/// SHOW CREATE TABLE: the table as a statement, with comments on its columns.
fn create(table: &dyn Table) -> ShowResult {
    let columns = table.columns();
    let lines = columns.iter().map(|column| {
        let kind = column.kind.mysql();
        let about = column.about.replace('\'', "''");
        format!("  `{}` {kind} COMMENT '{about}'", column.name)
    });
    let about = table.about().replace('\'', "''");
    let text = format!(
        "CREATE TABLE `{}` (\n{}\n) ENGINE={ENGINE} DEFAULT CHARSET=utf8mb4 COMMENT='{about}'",
        table.name(),
        lines.collect::<Vec<_>>().join(",\n")
    );
    let name = quoted(table.name());
    Ok(Statement::Query(format!(
        "SELECT {name} AS \"Table\", {} AS \"Create Table\"",
        quoted(&text)
    )))
}
