//! The parts that paths of the description share: answers, contents, columns, values.

use serde_json::{Value, json};

/// What is told of a statement.
pub fn outcome() -> Value {
    let list = json!({"type": "array", "items": {"$ref": "#/components/schemas/Value"}});
    json!({
        "type": "object",
        "properties": {
            "done": {"const": true, "description": "There is nothing to show."},
            "changed": {"type": "integer", "description": "Rows that have been changed."},
            "columns": columns_schema(),
            "warnings": warnings(),
            "rows": {"type": "array", "items": list},
        },
    })
}

pub fn check() -> Value {
    json!({
        "type": "boolean",
        "default": false,
        "description": "Nothing is changed: the answer has a row for each setting that would be, with what it is, \
                        what it would become and when that takes effect; an error is the one that the change \
                        would have.",
    })
}

pub fn responses(status: &str, about: &str, schema: Option<&Value>) -> Value {
    let mut good = json!({"description": about});
    if let Some(schema) = schema {
        good["content"] = content(schema);
    }
    json!({status: good, "default": {"$ref": "#/components/responses/Error"}})
}

pub fn parameter(name: &str, about: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "query", "description": about, "schema": schema})
}

pub fn content(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

pub fn columns_schema() -> Value {
    json!({"type": "array", "items": {"$ref": "#/components/schemas/Column"}})
}

pub fn warnings() -> Value {
    let about = "What is missing, such as what a busy worker has.";
    json!({"type": "array", "items": {"type": "string"}, "description": about})
}

pub fn column() -> Value {
    json!({
        "type": "object",
        "required": ["name", "type"],
        "properties": {
            "name": {"type": "string"},
            "type": {"enum": ["integer", "string"]},
            "unit": {"type": ["string", "null"], "description": "What numbers count: s, us."},
            "about": {"type": "string"},
        },
    })
}

pub fn value() -> Value {
    json!({"type": ["integer", "number", "string", "boolean", "null"]})
}

pub fn error() -> Value {
    let code = json!({
        "type": ["integer", "null"],
        "description": "The number that the SQL port has for it, where it has one.",
    });
    let error = json!({
        "type": "object",
        "required": ["message"],
        "properties": {"code": code, "message": {"type": "string"}},
    });
    json!({"type": "object", "required": ["error"], "properties": {"error": error}})
}
