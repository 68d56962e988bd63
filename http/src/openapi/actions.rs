//! The description of the actions in OpenAPI, derived from the registry of actions.

use config::AdminRole;
use serde_json::{Map, Value, json};

use super::super::actions::{ACTIONS, Action, CHECK, Method, Parameter, schema};
use super::components::{responses, shared};

/// Adds each action to the paths.
pub fn describe(paths: &mut Map<String, Value>) {
    for action in ACTIONS {
        let path = paths.entry(action.path).or_insert_with(|| json!({}));
        path[action.method.name()] = operation(action);
    }
}

fn operation(action: &Action) -> Value {
    let sql = action.means.sql();
    let (role, for_whom) = match action.role() {
        AdminRole::Admin => ("admin", "users with the role `admin`"),
        AdminRole::Stats => ("stats", "everybody who may look"),
        AdminRole::Changes => ("changes", "users with the role `changes`"),
    };
    let mut answers = responses("What has come of it.", &shared("schemas", "Outcome"));
    if action.method != Method::Get {
        answers["204"] = json!({"description": "It is done, and there is nothing to tell."});
    }
    let mut operation = json!({
        "operationId": action.name,
        "summary": action.about,
        "description": format!("Does what `{sql}` does. For {for_whom}."),
        "x-role": role,
        "responses": answers,
    });
    if let Some(name) = action.open() {
        operation["parameters"] = json!([{
            "name": name,
            "in": "path",
            "required": true,
            "schema": {"type": if name == "id" { "integer" } else { "string" }},
        }]);
    }
    if action.method.has_body() {
        operation["requestBody"] = json!({
            "required": true,
            "content": {"application/json": {"schema": body(action)}},
        });
    }
    operation
}

fn body(action: &Action) -> Value {
    let parameters = action.means.parameters();
    let properties = parameters.iter().map(|it| {
        let described = json!({
            "description": it.about,
            "anyOf": [schema(it.kind), {"type": "null"}],
        });
        (it.name.to_owned(), described)
    });
    let mut properties: Map<_, _> = properties.collect();
    if action.means.can_be_checked() {
        properties.insert(CHECK.to_owned(), shared("schemas", "Check"));
    }
    // In a change of an existing row, fields that are left out keep their values.
    let is_needed = |it: &&Parameter| it.is_required && action.method == Method::Post;
    let required = parameters.iter().filter(is_needed);
    let required: Vec<_> = required.map(|it| it.name).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": required,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_action_is_described_with_all_that_it_takes() {
        let document = super::super::written();
        let paths = document["paths"].as_object().unwrap();
        for action in ACTIONS {
            let operation = &paths[action.path][action.method.name()];
            assert_eq!(operation["operationId"], action.name);
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            let properties = body["properties"].as_object().map_or(0, Map::len);
            let checked = usize::from(action.means.can_be_checked());
            let count = action.means.parameters().len() + checked;
            assert_eq!(properties, count, "{}", action.name);
        }
        let whole_number = &paths["/api/settings"]["patch"]["requestBody"]["content"]["application/json"]
            ["schema"]["properties"]["limits.sessions_max"]["anyOf"][0];
        assert_eq!(whole_number["type"], "integer");
    }
}
