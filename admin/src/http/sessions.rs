//! What KILL does.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use route::KillScope;

use super::House;
use super::door::Caller;
use super::guard::Known;
use super::refusal::Refusal;

type Asked = (Extension<Known>, Extension<Caller>);
type Id = Result<Path<u32>, PathRejection>;

/// `DELETE /api/sessions/ID`
pub async fn end(house: State<Arc<House>>, asked: Asked, id: Id) -> Result<StatusCode, Refusal> {
    kill(&house, asked, id, KillScope::Connection).await
}

/// `DELETE /api/sessions/ID/statement`
pub async fn end_statement(
    house: State<Arc<House>>,
    asked: Asked,
    id: Id,
) -> Result<StatusCode, Refusal> {
    kill(&house, asked, id, KillScope::Statement).await
}

async fn kill(
    house: &House,
    (Extension(known), Extension(caller)): Asked,
    id: Id,
    scope: KillScope,
) -> Result<StatusCode, Refusal> {
    let Path(id) = id.map_err(|_| {
        let text = "The id of a session is a number, as `sessions` has it";
        Refusal::new(StatusCode::BAD_REQUEST, text)
    })?;
    known.visitor(house, &caller).kill(id, scope).await?;
    house.recent.forget().await;
    Ok(StatusCode::NO_CONTENT)
}
