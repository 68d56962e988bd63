//! The actions: each is defined once, with its path, role and SQL statement. Routing, the fields of a body and the
//! OpenAPI document derive from that; the SQL engine of the admin port runs the statements.

mod action;
mod lists;
mod registry;
mod values;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{Extension, RawPathParams, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use config::AdminRole;

use super::HttpState;
use super::accept::Caller;
use super::body::{self, Object, echoed};
use super::guard::AuthenticatedUser;
use super::query::outcome_response;
use super::refusal::Refusal;
use action::Order;
pub use action::{Action, Method};
use admin::admin_session::Outcome;
pub use registry::ACTIONS;
pub use values::{Parameter, schema};

/// The field of a body that asks for a check only.
pub const CHECK: &str = "check";

/// The routes of all actions.
pub fn routes() -> Router<Arc<HttpState>> {
    ACTIONS.iter().fold(Router::new(), |router, action| {
        let perform = move |State(state): State<Arc<HttpState>>,
                            Extension(known): Extension<AuthenticatedUser>,
                            Extension(caller): Extension<Caller>,
                            named: Result<RawPathParams, RawPathParamsRejection>,
                            request: Request| async move {
            let named = named.map_err(|_| {
                let text = "The path is no text of UTF-8";
                Refusal::new(StatusCode::BAD_REQUEST, text)
            })?;
            let named = named.iter().next().map(|(_, value)| value.to_owned());
            let named = named.unwrap_or_default();
            action
                .perform(&state, (&known, &caller), &named, request)
                .await
        };
        router.route(action.path, on(action.method.filter(), perform))
    })
}

impl Action {
    /// Runs the action, or only checks it.
    async fn perform(
        &self,
        state: &HttpState,
        (known, caller): (&AuthenticatedUser, &Caller),
        named: &str,
        request: Request,
    ) -> Result<Response, Refusal> {
        let mut admin_session = known.admin_session(state, caller);
        if self.role() == AdminRole::Admin {
            admin_session.check_change(&self.means.sql())?;
        }
        let mut fields = match self.method.has_body() {
            true => body::read(request).await?,
            false => Object::default(),
        };
        let only_checks = self.means.can_be_checked() && only_checks(&mut fields)?;
        let Order {
            statement,
            text,
            values,
        } = self.means.order(named, fields)?;
        let (outcome, rows) = match only_checks {
            true => {
                let (rows, differences) = admin_session.check_changes(statement, values).await?;
                (
                    Outcome::Rows(differences, admin_session.warnings.clone()),
                    rows,
                )
            }
            false => {
                let outcome = admin_session.carry_out(statement, &text, values).await?;
                let rows = match outcome {
                    Outcome::Changed(rows) => rows,
                    Outcome::Rows(..) | Outcome::Done => 0,
                };
                (outcome, rows)
            }
        };
        if let (Some(list), 0) = (self.means.named_in(), rows) {
            return Err(list.no_row(named));
        }
        match outcome {
            Outcome::Done => {
                state.recent.forget().await;
                Ok(StatusCode::NO_CONTENT.into_response())
            }
            outcome => outcome_response(state, outcome, admin_session.warnings).await,
        }
    }
}

/// Takes the field out of a body that asks for a check only.
fn only_checks(fields: &mut Object) -> Result<bool, Refusal> {
    let Some(place) = fields.0.iter().position(|(name, _)| name == CHECK) else {
        return Ok(false);
    };
    let (_, value) = fields.0.remove(place);
    value.as_bool().ok_or_else(|| {
        let text = format!("{} is true or false", echoed(CHECK));
        Refusal::new(StatusCode::BAD_REQUEST, text)
    })
}

#[cfg(test)]
mod tests;
