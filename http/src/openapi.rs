//! The API's description in OpenAPI 3.1. `openapi.json` has the fixed paths and shared parts; the paths of
//! tables and actions come from their registries.

mod actions;
mod components;

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::tables::{RESERVED, full_name, json_response};
use admin::registry::TABLES;
use admin::table::Table;
use components::{responses, shared};

/// `GET /api/openapi.json`
pub async fn document() -> Response {
    json_response(written().to_string().into())
}

fn written() -> Value {
    let fixed = serde_json::from_str(include_str!("openapi.json"));
    let mut document: Value = fixed.expect("openapi.json is built in, and a test reads it");
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    if let Some(paths) = document["paths"].as_object_mut() {
        for table in TABLES.iter().copied() {
            let path = format!("/api/tables/{}", full_name(table));
            paths.insert(path, of_table(table));
        }
        actions::describe(paths);
    }
    document
}

fn of_table(table: &dyn Table) -> Value {
    let columns = table.columns();
    let filters = columns.iter().map(|column| {
        json!({
            "name": column.name,
            "in": "query",
            "description": format!("Rows with this value alone. {}", column.about),
            "schema": {"type": column.kind.json()},
        })
    });
    let others = RESERVED.iter().map(|name| shared("parameters", name));
    let parameters: Vec<_> = filters.chain(others).collect();
    let properties = columns.iter().map(|column| {
        let schema = json!({
            "type": [column.kind.json(), "null"],
            "description": column.about,
            "x-unit": column.unit,
        });
        (column.name.to_owned(), schema)
    });
    let properties: Map<_, _> = properties.collect();
    let row = json!({
        "anyOf": [shared("schemas", "Row"), {"type": "object", "properties": properties}],
    });
    let answer = json!({
        "type": "object",
        "required": ["table", "about", "columns", "warnings", "rows"],
        "properties": {
            "table": {"type": "string"},
            "about": {"type": "string"},
            "columns": shared("schemas", "Columns"),
            "warnings": shared("schemas", "Warnings"),
            "rows": {"type": "array", "items": row},
        },
    });
    json!({"get": {
        "summary": table.about(),
        "parameters": parameters,
        "responses": responses("Its rows, at most a second old.", &answer),
    }})
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
    fn every_reference_exists() {
        let document = written();
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap_or_default();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
