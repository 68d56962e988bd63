//! Fetches the definitions of a backend's views, routines, triggers and defaults. `information_schema` shows only what
//! the monitor account may see.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use route::{ClusterDefinitions, ClusterId};
use session::state::{Expression, of_expression, of_routine};
use sql::{Flags, Server};
use tokio::time::timeout;

use super::resolving::{DefinitionKind, Object, resolve};
use crate::account_loader::Teacher;
use crate::connection::Connection;
use crate::failure::{Failure, printable};
use crate::grant::grant;
use crate::login::{Access, Entry};
use crate::rows::Bounds;

/// The most that is read of a cluster. If there is more, the known definitions stay, and the log says so.
const BOUNDS: Bounds = Bounds {
    rows: 100_000,
    bytes: 64 << 20,
};

/// For the one row about the server and the account.
const PARTICULARS_BOUNDS: Bounds = Bounds {
    rows: 1,
    bytes: 16 << 10,
};

/// The longest that one server may take.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Servers quote names in definitions by the session's `sql_mode`, so it is set first.
const MODE: &str = "SET SESSION sql_mode = ''";

/// The last column: the needed privileges that the account has for all schemas.
const PARTICULARS: &str = "SELECT VERSION(), CURRENT_USER(), \
    (SELECT GROUP_CONCAT(PRIVILEGE_TYPE) FROM information_schema.USER_PRIVILEGES \
     WHERE PRIVILEGE_TYPE IN ('SELECT', 'SHOW VIEW', 'TRIGGER') \
       AND GRANTEE = CONCAT('\\'', REPLACE(CURRENT_USER(), '@', '\\'@\\''), '\\''))";

/// Without these an account does not see all definitions. SELECT shows those of routines.
const PRIVILEGES: [&str; 3] = ["SELECT", "SHOW VIEW", "TRIGGER"];

const VIEWS: &str = "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS \
    WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";

const ROUTINES: &str = "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_TYPE, ROUTINE_BODY, SQL_MODE, \
    ROUTINE_DEFINITION FROM information_schema.ROUTINES";

const PARAMETERS: &str = "SELECT SPECIFIC_SCHEMA, SPECIFIC_NAME, ROUTINE_TYPE, PARAMETER_NAME \
    FROM information_schema.PARAMETERS WHERE PARAMETER_NAME IS NOT NULL";

const TRIGGERS: &str = "SELECT TRIGGER_SCHEMA, TRIGGER_NAME, EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, \
    SQL_MODE, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA <> 'sys'";

/// MariaDB's defaults may advance a sequence and set user variables; its generated columns may set user variables.
/// Defaults and generated columns of MySQL do neither (errors 3763, 3770, 3772), nor do CHECK constraints of either
/// family.
const COLUMNS: &str = "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_DEFAULT, GENERATION_EXPRESSION \
    FROM information_schema.COLUMNS \
    WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') \
      AND (COLUMN_DEFAULT LIKE '%val(%' OR COLUMN_DEFAULT LIKE '%@%' OR GENERATION_EXPRESSION LIKE '%@%')";

/// The backends of a cluster that may be asked, the likeliest to know first.
#[derive(Debug, Clone)]
pub(crate) struct Teachers {
    pub cluster: ClusterId,
    pub name: String,
    pub teachers: Vec<Teacher>,
}

/// The definitions that were fetched in one cluster, or why they were not.
#[derive(Debug)]
pub(crate) struct FetchedDefinitions {
    pub cluster: ClusterId,
    pub name: String,
    pub outcome: Result<Arc<ClusterDefinitions>, FetchError>,
}

/// Why no definitions were fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FetchError {
    pub backend: Option<String>,
    pub cause: String,
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.backend {
            Some(backend) => write!(f, "backend {backend}: {}", self.cause),
            None => f.write_str(&self.cause),
        }
    }
}

/// Asks, in each cluster, its backends in turn until one answers.
pub(crate) async fn ask_all(access: &Access, clusters: Vec<Teachers>) -> Vec<FetchedDefinitions> {
    let mut all = Vec::new();
    for Teachers {
        cluster,
        name,
        teachers,
    } in clusters
    {
        let outcome = ask_first_usable(access, &teachers).await.map(Arc::new);
        all.push(FetchedDefinitions {
            cluster,
            name,
            outcome,
        });
    }
    all
}

async fn ask_first_usable(
    access: &Access,
    teachers: &[Teacher],
) -> Result<ClusterDefinitions, FetchError> {
    let without_teacher = |cause: &str| FetchError {
        backend: None,
        cause: cause.to_owned(),
    };
    if access.account.is_none() {
        return Err(without_teacher(
            "there is no health.monitor_user to read them",
        ));
    }
    let mut trouble = None;
    for teacher in teachers {
        match ask_teacher(access, teacher).await {
            Ok(known) => return Ok(known),
            Err(cause) => {
                let backend = Some(teacher.name.clone());
                trouble = trouble.or(Some(FetchError { backend, cause }));
            }
        }
    }
    Err(trouble.unwrap_or_else(|| without_teacher("no backend is up")))
}

async fn ask_teacher(access: &Access, teacher: &Teacher) -> Result<ClusterDefinitions, String> {
    let entry = access.log_in(&teacher.destination).await;
    let mut connection = match entry.map_err(|failure| failure.to_string())? {
        Entry::In(connection) => connection,
        Entry::Refused { text, .. } => return Err(text),
    };
    match timeout(TIME_MAX, ask(&mut connection)).await {
        Ok(Ok(answers)) => {
            connection.quit().await;
            build(answers).await
        }
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(_) => Err(format!("its definitions took longer than {TIME_MAX:?}")),
    }
}

/// Resolves the definitions on a blocking thread: a hundred thousand objects take a while, and the loop must not wait.
async fn build(answers: Answers) -> Result<ClusterDefinitions, String> {
    let building = tokio::task::spawn_blocking(move || ClusterDefinitions {
        complaint: answers.complaint.clone(),
        ..resolve(answers.objects())
    });
    building.await.map_err(|panic| panic.to_string())
}

/// One server's answers.
struct Answers {
    server: Server,
    complaint: Option<String>,
    views: Vec<Row>,
    parameters: Vec<Row>,
    routines: Vec<Row>,
    triggers: Vec<Row>,
    columns: Vec<Row>,
}

impl Answers {
    /// The objects with a visible definition. Hidden objects count as unknown, as before anything was learned.
    fn objects(&self) -> Vec<Object> {
        let server = self.server;
        let mut parameters: HashMap<Option<&[Vec<u8>]>, Vec<Vec<u8>>> = HashMap::new();
        for row in &self.parameters {
            let of = parameters.entry(row.get(..3)).or_default();
            of.push(cell(row, 3).to_vec());
        }
        let none = Vec::new();
        let views = self.views.iter().map(|row| view(row, server));
        let routines = self.routines.iter().map(|row| {
            let own = parameters.get(&row.get(..3)).unwrap_or(&none);
            routine(row, own, server)
        });
        let triggers = self.triggers.iter().map(|row| trigger(row, server));
        let columns = self.columns.iter().flat_map(|row| column(row, server));
        let all = views.chain(routines).chain(triggers).chain(columns);
        all.filter(|object| !object.is_hidden).collect()
    }
}

/// Fetches all definitions, and notes the privileges that the account lacks.
async fn ask(connection: &mut Connection) -> Result<Answers, Failure> {
    connection.execute(MODE).await?;
    let rows = connection.query(PARTICULARS, PARTICULARS_BOUNDS).await?;
    let row = rows.only().await?;
    let text = |column: usize| -> Result<String, Failure> {
        let value = row.values()?.get(column).copied().flatten().map(printable);
        Ok(value.unwrap_or_default())
    };
    let (version, user, privileges) = (text(0)?, text(1)?, text(2)?);
    let is_mariadb = version.contains("MariaDB");
    let has = |privilege: &&str| privileges.split(',').any(|it| it == *privilege);
    let missing: Vec<_> = PRIVILEGES.into_iter().filter(|it| !has(it)).collect();
    Ok(Answers {
        server: server_of(&version, is_mariadb),
        complaint: (!missing.is_empty()).then(|| complaint(&missing.join(", "), &user)),
        views: table(connection, VIEWS).await?,
        parameters: table(connection, PARAMETERS).await?,
        routines: table(connection, ROUTINES).await?,
        triggers: table(connection, TRIGGERS).await?,
        columns: match is_mariadb {
            true => table(connection, COLUMNS).await?,
            false => Vec::new(),
        },
    })
}

fn complaint(missing: &str, user: &str) -> String {
    let grant = grant(&format!("{missing} ON *.*"), user);
    format!("the monitor account may not see all definitions: {grant}")
}

type Row = Vec<Vec<u8>>;

/// Reads a whole result; NULL becomes empty.
async fn table(connection: &mut Connection, query: &str) -> Result<Vec<Row>, Failure> {
    let mut rows = connection.query(query, BOUNDS).await?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().await? {
        let values = row.values()?.into_iter();
        all.push(values.map(|it| it.unwrap_or_default().to_vec()).collect());
    }
    Ok(all)
}

fn cell(row: &Row, column: usize) -> &[u8] {
    row.get(column).map(Vec::as_slice).unwrap_or_default()
}

/// A version number as in executable comments: 80036 for 8.0.36, 101108 for 10.11.8.
fn server_of(version: &str, is_mariadb: bool) -> Server {
    let mut numbers = version
        .split(|it: char| !it.is_ascii_digit())
        .map(|it| it.parse::<u32>().unwrap_or_default());
    let mut next = || numbers.next().unwrap_or_default().min(99);
    let number = next() * 10_000 + next() * 100 + next();
    match is_mariadb {
        true => Server::MariaDb(number),
        false => Server::MySql(number),
    }
}

fn view(row: &Row, server: Server) -> Object {
    let flags = Flags {
        server,
        ..Flags::default()
    };
    let definition = cell(row, 2);
    Object {
        kind: DefinitionKind::View,
        schema: cell(row, 0).to_vec(),
        name: cell(row, 1).to_vec(),
        table: None,
        expression: of_expression(definition, flags),
        is_hidden: definition.is_empty(),
    }
}

/// The effects of a routine's or trigger's text, which the server read in this `sql_mode`.
fn body(text: &[u8], parameters: &[Vec<u8>], mode: &[u8], server: Server) -> Expression {
    let flags = Flags {
        server,
        ..Flags::default()
    };
    let is_oracle = mode.split(|byte| *byte == b',').any(|it| it == b"ORACLE");
    // The proxy does not understand routines in Oracle mode, so they count as empty text.
    let text = if is_oracle { b"" } else { text };
    of_routine(text, parameters, flags.in_mode(mode))
}

fn routine(row: &Row, parameters: &[Vec<u8>], server: Server) -> Object {
    let text = match cell(row, 3) {
        b"SQL" => cell(row, 5),
        // The routine is in a language other than SQL.
        _ => b"",
    };
    Object {
        kind: match cell(row, 2) {
            b"FUNCTION" => DefinitionKind::Function,
            _ => DefinitionKind::Procedure,
        },
        schema: cell(row, 0).to_vec(),
        name: cell(row, 1).to_vec(),
        table: None,
        expression: body(text, parameters, cell(row, 4), server),
        is_hidden: cell(row, 5).is_empty(),
    }
}

fn trigger(row: &Row, server: Server) -> Object {
    let text = cell(row, 5);
    Object {
        kind: DefinitionKind::Trigger,
        schema: cell(row, 0).to_vec(),
        name: cell(row, 1).to_vec(),
        table: Some((cell(row, 2).to_vec(), cell(row, 3).to_vec())),
        expression: body(text, &[], cell(row, 4), server),
        is_hidden: text.is_empty(),
    }
}

/// A column's default is evaluated where its table is written, a generated column where it is read as well.
fn column(row: &Row, server: Server) -> impl Iterator<Item = Object> {
    let flags = Flags {
        server,
        ..Flags::default()
    };
    let object = |kind, text: &[u8]| {
        let select = [b"SELECT ", text].concat();
        let name = [cell(row, 1), b".", cell(row, 2)].concat();
        Object {
            kind,
            schema: cell(row, 0).to_vec(),
            name,
            table: Some((cell(row, 0).to_vec(), cell(row, 1).to_vec())),
            expression: of_expression(&select, flags),
            is_hidden: text.is_empty(),
        }
    };
    [
        object(DefinitionKind::Default, cell(row, 3)),
        object(DefinitionKind::Generated, cell(row, 4)),
    ]
    .into_iter()
}
