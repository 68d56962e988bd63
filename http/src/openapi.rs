//! What can be asked here, in OpenAPI 3.1: derived from the registry of tables, and from that of actions.

mod actions;
mod schemas;

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::tables::{full_name, json_response};
use admin::registry::TABLES;
use admin::table::Table;
use schemas::{
    check, column, columns_schema, content, error, outcome, parameter, responses, value, warnings,
};

/// `GET /api/openapi.json`
pub async fn document() -> Response {
    json_response(written().to_string().into())
}

fn written() -> Value {
    let mut paths = Map::new();
    for table in TABLES.iter().copied() {
        let path = format!("/api/tables/{}", full_name(table));
        paths.insert(path, of_table(table));
    }
    paths.insert("/api/tables".to_owned(), of_tables());
    paths.insert("/api/query".to_owned(), of_query());
    actions::describe(&mut paths);
    for (path, about, words) in [
        ("/healthz", "The process lives.", &[("200", "ok")][..]),
        (
            "/readyz",
            "Whether the proxy runs and a backend can be used; need=writes, need=reads, need=monitor and \
             cluster=NAME ask for more.",
            &[
                ("200", "ready"),
                ("400", "the question is not understood"),
                ("503", "not ready, and why"),
            ],
        ),
    ] {
        paths.insert(path.to_owned(), of_health(about, words));
    }
    paths.insert("/changes".to_owned(), of_changes());
    paths.insert("/metrics".to_owned(), of_metrics());
    paths.insert("/api/openapi.json".to_owned(), of_itself());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pilotfish",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A proxy for MySQL and MariaDB: its state as tables.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"password": []}, {"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "password": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "A user of the admin port.",
                },
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "`http.token`; may look, and no more.",
                },
            },
            "schemas": {"Error": error(), "Column": column(), "Value": value()},
            "responses": {
                "Error": error_response(),
            },
        },
    })
}

fn error_response() -> Value {
    json!({
        "description": "It cannot be done, and why.",
        "content": content(&json!({"$ref": "#/components/schemas/Error"})),
    })
}

fn of_table(table: &dyn Table) -> Value {
    let columns = table.columns();
    let mut parameters: Vec<_> = columns
        .iter()
        .map(|column| {
            let text = format!("Rows with this value alone. {}", column.about);
            parameter(column.name, &text, &json!({"type": column.kind.json()}))
        })
        .collect();
    let texts = json!({"type": "string"});
    let count = json!({"type": "integer", "minimum": 0});
    let ways = json!({"enum": ["arrays", "objects"], "default": "arrays"});
    parameters.extend([
        parameter(
            "columns",
            "Columns, with commas between; all of them by default.",
            &texts,
        ),
        parameter(
            "order",
            "Columns to order by, with commas between; -NAME: downwards.",
            &texts,
        ),
        parameter("limit", "Rows at most.", &count),
        parameter("offset", "Rows to leave out at the beginning.", &count),
        parameter(
            "rows",
            "Whether a row is a list of values, or an object by names.",
            &ways,
        ),
    ]);
    let properties: Map<_, _> = columns
        .iter()
        .map(|column| {
            let schema = json!({
                "type": [column.kind.json(), "null"],
                "description": column.about,
                "x-unit": column.unit,
            });
            (column.name.to_owned(), schema)
        })
        .collect();
    let list = json!({"type": "array", "items": {"$ref": "#/components/schemas/Value"}});
    let row = json!({"anyOf": [list, {"type": "object", "properties": properties}]});
    let answer = json!({
        "type": "object",
        "required": ["table", "about", "columns", "warnings", "rows"],
        "properties": {
            "table": {"type": "string"},
            "about": {"type": "string"},
            "columns": columns_schema(),
            "warnings": warnings(),
            "rows": {"type": "array", "items": row},
        },
    });
    json!({"get": {
        "summary": table.about(),
        "parameters": parameters,
        "responses": responses("200", "Its rows, at most a second old.", Some(&answer)),
    }})
}

fn of_tables() -> Value {
    let table = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "about": {"type": "string"},
            "columns": columns_schema(),
        },
    });
    let answer =
        json!({"type": "object", "properties": {"tables": {"type": "array", "items": table}}});
    json!({"get": {
        "summary": "The tables there are.",
        "responses": responses("200", "All of them.", Some(&answer)),
    }})
}

fn of_query() -> Value {
    let body = json!({
        "type": "object",
        "required": ["sql"],
        "additionalProperties": false,
        "properties": {
            "sql": {"type": "string", "description": "As the SQL port takes it."},
            "values": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/Value"},
                "description": "A value for each placeholder.",
            },
            "check": check(),
        },
    });
    json!({"post": {
        "summary": "A statement of SQL.",
        "description": "The role `stats`, which the token has as well, may look: SELECT, SHOW and DESCRIBE. \
                        The role `admin` may do all that the SQL port takes: UPDATE, INSERT and \
                        DELETE in the tables of the configuration, SET GLOBAL, SAVE, REVERT, LOAD, KILL, RESET. \
                        Each request stands for itself: BEGIN and USE end with it.",
        "requestBody": {"required": true, "content": content(&body)},
        "responses": responses("200", "What has come of it.", Some(&outcome())),
    }})
}

fn of_changes() -> Value {
    let texts = json!({"type": "string"});
    let parameters = [
        parameter(
            "cluster",
            "The cluster whose changes are read. It may be left out if only one has a relay_folder.",
            &texts,
        ),
        parameter(
            "tables",
            "Tables, with commas between: `shop.orders`, `shop.*`, `!shop.log`; all of them by default.",
            &texts,
        ),
        parameter(
            "from",
            "`now` (the default), `oldest`, or a position: the changes behind it follow. The header `Last-Event-ID` goes \
             before it.",
            &texts,
        ),
    ];
    let content = json!({
        "application/x-ndjson": {"schema": texts},
        "text/event-stream": {"schema": texts},
    });
    let about = "One JSON object for each row that has changed, without end.";
    let error = |about: &str| {
        let mut error = error_response();
        error["description"] = about.into();
        error
    };
    json!({"get": {
        "summary": "The change feed.",
        "description": "Rows that have changed, in Debezium's shape, in order, each at least once. For users with the \
                        roles `changes` and `admin`. `Accept: text/event-stream` asks for server-sent events; without \
                        it the answer has a JSON object a line.",
        "parameters": parameters,
        "responses": {
            "200": {"description": about, "content": content},
            "404": error("There is no such stream."),
            "409": error("The position is ahead of the relay files."),
            "410": error("The relay files do not hold all transactions behind the position any more."),
            "503": error("The relay has not begun, or too many clients read changes."),
            "default": {"$ref": "#/components/responses/Error"},
        },
    }})
}

fn of_metrics() -> Value {
    let text = json!({"text/plain": {"schema": {"type": "string"}}});
    let good =
        json!({"description": "In Prometheus' text format, version 0.0.4.", "content": text});
    json!({"get": {
        "summary": "Metrics; `http.metrics` says who may read them without a login.",
        "security": [{"password": []}, {"token": []}, {}],
        "responses": {"200": good, "default": {"$ref": "#/components/responses/Error"}},
    }})
}

fn of_itself() -> Value {
    let document = json!({"type": "object"});
    json!({"get": {
        "summary": "What can be asked here.",
        "responses": responses("200", "This document.", Some(&document)),
    }})
}

fn of_health(about: &str, words: &[(&str, &str)]) -> Value {
    let word = |(status, word): &(&str, &str)| {
        let content = json!({"text/plain": {"schema": {"type": "string"}}});
        (
            (*status).to_owned(),
            json!({"description": word, "content": content}),
        )
    };
    let responses: Map<_, _> = words.iter().map(word).collect();
    json!({"get": {"summary": about, "security": [], "responses": responses}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_described_with_all_of_its_columns() {
        let document = written();
        for table in TABLES.iter().copied() {
            let path = format!("/api/tables/{}", full_name(table));
            let parameters = &document["paths"][&path]["get"]["parameters"];
            let parameters = parameters.as_array().map_or(0, Vec::len);
            assert_eq!(parameters, table.columns().len() + 5, "{path}");
        }
    }

    #[test]
    fn every_path_that_is_served_is_described() {
        let router = include_str!("lib.rs").split(".route(").skip(1);
        let served: Vec<_> = router.filter_map(|it| it.split('"').nth(1)).collect();
        assert!(served.len() > 6, "{served:?}");
        let document = written();
        for path in served.into_iter().filter(|it| !it.contains("{name}")) {
            assert!(document["paths"][path].is_object(), "{path}");
        }
    }

    #[test]
    fn what_is_referred_to_is_there() {
        let document = written();
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap_or_default();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
