//! Parts that the paths of the description share.

use serde_json::{Value, json};

/// A reference to a shared part, by its name in `openapi.json`.
pub fn shared(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}

/// The responses of a path: this schema, or an error.
pub fn responses(about: &str, schema: &Value) -> Value {
    json!({
        "200": {"description": about, "content": {"application/json": {"schema": schema}}},
        "default": shared("responses", "Error"),
    })
}
