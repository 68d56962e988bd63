//! What the paths of the description share.

use serde_json::{Value, json};

/// A part that paths share, by its name in `openapi.json`.
pub fn shared(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}

/// What is answered: this, or an error.
pub fn responses(about: &str, schema: &Value) -> Value {
    json!({
        "200": {"description": about, "content": {"application/json": {"schema": schema}}},
        "default": shared("responses", "Error"),
    })
}
