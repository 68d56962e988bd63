//! SHOW and DESCRIBE: what servers answer to them, as queries over the registry's tables.

use crate::fault::Fault;
use crate::registry;
use crate::sheet::{Schema, Table};
use crate::spelling::{Text, quoted};
use crate::statement::Statement;

type Shown = Result<Statement, Fault>;

/// What a table's columns are shown with.
const COLUMNS: &str = "SELECT COLUMN_NAME AS \"Field\", COLUMN_TYPE AS \"Type\", IS_NULLABLE AS \"Null\", \
                       COLUMN_KEY AS \"Key\", COLUMN_DEFAULT AS \"Default\", EXTRA AS \"Extra\", \
                       COLUMN_COMMENT AS \"Comment\" FROM information_schema.COLUMNS";

/// Sessions as servers show them.
const PROCESSLIST: &str = "SELECT id AS \"Id\", user AS \"User\", client AS \"Host\", db, \
                           CASE state WHEN 'idle' THEN 'Sleep' WHEN 'running' THEN 'Query' ELSE 'Connect' END \
                           AS \"Command\", state_seconds AS \"Time\", \
                           ifnull('pinned: ' || pins, state) AS \"State\", NULL AS \"Info\" \
                           FROM pilotfish.sessions ORDER BY id";

/// What is behind SHOW.
pub fn show(text: Text<'_>, schema: Schema) -> Shown {
    let text = text.without(&["GLOBAL", "SESSION", "LOCAL", "EXTENDED"]);
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
        let rest = rest.behind_any(&["FROM", "IN"]).ok_or_else(unknown)?;
        return columns(rest, schema);
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
        return filtered(PROCESSLIST, "Id", rest);
    }
    if let Some(rest) = text
        .behind("CREATE")
        .and_then(|rest| rest.behind_any(&["TABLE", "VIEW"]))
    {
        let (table, _) = named_table(rest, schema)?;
        return create(table);
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
    empty(text, schema)
}

/// What is behind DESCRIBE.
pub fn describe(text: Text<'_>, schema: Schema) -> Shown {
    let (table, rest) = named_table(text, schema)?;
    let select = format!("{COLUMNS} WHERE {}", is_of(table));
    match rest.name().or_else(|| rest.string()) {
        None if rest.is_empty() => Ok(Statement::Query(select)),
        Some((column, rest)) if rest.is_empty() => {
            let select = format!("{select} AND COLUMN_NAME LIKE {}", quoted(&column));
            Ok(Statement::Query(select))
        }
        _ => Err(unknown()),
    }
}

fn unknown() -> Fault {
    Fault::syntax("This cannot be shown; SELECT * FROM help lists what can")
}

fn tables(rest: Text<'_>, schema: Schema, is_full: bool) -> Shown {
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

fn columns(rest: Text<'_>, schema: Schema) -> Shown {
    let (name, rest) = qualified(rest)?;
    let (schema, rest) = match rest.behind_any(&["FROM", "IN"]) {
        Some(_) => {
            let (schema, rest) = of_schema(rest, schema)?;
            (Some(schema), rest)
        }
        None => (None, rest),
    };
    let table = find(
        schema.map(|schema| schema.name().to_owned()).or(name.0),
        &name.1,
    )?;
    let select = format!("{COLUMNS} WHERE {}", is_of(table));
    filtered(&select, "Field", rest)
}

/// `FROM schema`, or the schema of the moment.
fn of_schema(rest: Text<'_>, schema: Schema) -> Result<(Schema, Text<'_>), Fault> {
    let Some(rest) = rest.behind_any(&["FROM", "IN"]) else {
        return Ok((schema, rest));
    };
    let (name, rest) = rest.name().ok_or_else(unknown)?;
    let schema = Schema::named(&name).ok_or_else(|| Fault::no_schema(&name))?;
    Ok((schema, rest))
}

type Qualified = (Option<String>, String);

/// `table` or `schema.table`.
fn qualified(text: Text<'_>) -> Result<(Qualified, Text<'_>), Fault> {
    let (first, rest) = text.name().ok_or_else(unknown)?;
    match rest.behind(".") {
        Some(rest) => {
            let (second, rest) = rest.name().ok_or_else(unknown)?;
            Ok(((Some(first), second), rest))
        }
        None => Ok(((None, first), rest)),
    }
}

fn named_table(text: Text<'_>, _: Schema) -> Result<(&'static dyn Table, Text<'_>), Fault> {
    let ((schema, name), rest) = qualified(text)?;
    Ok((find(schema, &name)?, rest))
}

fn find(schema: Option<String>, name: &str) -> Result<&'static dyn Table, Fault> {
    let schema = match schema {
        Some(schema) => Some(Schema::named(&schema).ok_or_else(|| Fault::no_schema(&schema))?),
        None => None,
    };
    registry::table(schema, name).ok_or_else(|| Fault::no_table(name))
}

fn is_of(table: &dyn Table) -> String {
    format!(
        "TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quoted(table.schema().name()),
        quoted(table.name())
    )
}

/// The rows of a query whose column is like a pattern, or that an expression picks.
fn filtered(select: &str, column: &str, rest: Text<'_>) -> Shown {
    let narrowed = if let Some(rest) = rest.behind("LIKE") {
        let (pattern, rest) = rest.string().ok_or_else(unknown)?;
        if !rest.is_empty() {
            return Err(unknown());
        }
        let pattern = quoted(&pattern);
        format!("SELECT * FROM ({select}) WHERE \"{column}\" LIKE {pattern} ESCAPE '\\'")
    } else if let Some(rest) = rest.behind("WHERE") {
        format!("SELECT * FROM ({select}) WHERE {}", rest.in_sqlite()?)
    } else if rest.is_empty() {
        select.to_owned()
    } else {
        return Err(unknown());
    };
    Ok(Statement::Query(narrowed))
}

/// A table as a statement, with what its columns mean.
fn create(table: &dyn Table) -> Shown {
    let columns = table.columns();
    let lines = columns.iter().map(|column| {
        let kind = column.kind.mysql();
        let about = column.about.replace('\'', "''");
        format!("  `{}` {kind} COMMENT '{about}'", column.name)
    });
    let lines: Vec<_> = lines.collect();
    let about = table.about().replace('\'', "''");
    let text = format!(
        "CREATE TABLE `{}` (\n{}\n) COMMENT='{about}'",
        table.name(),
        lines.join(",\n")
    );
    let name = quoted(table.name());
    Ok(Statement::Query(format!(
        "SELECT {name} AS \"Table\", {} AS \"Create Table\"",
        quoted(&text)
    )))
}

/// What clients ask for that is not here.
fn empty(text: Text<'_>, schema: Schema) -> Shown {
    let select = if text.begins_with("COLLATION") {
        "SELECT 'utf8mb4_general_ci' AS \"Collation\", 'utf8mb4' AS \"Charset\", 45 AS \"Id\", \
         'Yes' AS \"Default\", 'Yes' AS \"Compiled\", 1 AS \"Sortlen\""
            .to_owned()
    } else if text.begins_with("CHARSET") || text.begins_with("CHARACTER") {
        "SELECT 'utf8mb4' AS \"Charset\", 'UTF-8 Unicode' AS \"Description\", \
         'utf8mb4_general_ci' AS \"Default collation\", 4 AS \"Maxlen\""
            .to_owned()
    } else if text.begins_with("ENGINES") {
        "SELECT '' AS \"Engine\", '' AS \"Support\", '' AS \"Comment\" LIMIT 0".to_owned()
    } else if text.begins_with("INDEX") || text.begins_with("INDEXES") || text.begins_with("KEYS") {
        "SELECT '' AS \"Table\", 0 AS \"Non_unique\", '' AS \"Key_name\", 0 AS \"Seq_in_index\", \
         '' AS \"Column_name\" LIMIT 0"
            .to_owned()
    } else if let Some(rest) = text.behind("TABLE").and_then(|rest| rest.behind("STATUS")) {
        let (schema, rest) = of_schema(rest, schema)?;
        let select = format!(
            "SELECT TABLE_NAME AS \"Name\", ENGINE AS \"Engine\", TABLE_COMMENT AS \"Comment\" \
             FROM information_schema.TABLES WHERE TABLE_SCHEMA = {}",
            quoted(schema.name())
        );
        return filtered(&select, "Name", rest);
    } else {
        return Err(unknown());
    };
    Ok(Statement::Query(select))
}
