//! A copy of a statement, for a session in another cluster.

use sql::StatementKind;
use wire::execute::Execute;
use wire::query::Query;
use wire::{Capabilities, Command};

use route::ClusterId;

use backend::prepared_statement::StatementKey;
use command::statement::Statement;
use script_host::shadow_queue::Work;

/// The copy of a statement, for a session in this cluster. `None`: the statement cannot be copied.
pub(super) fn copy_of(
    statement: &Statement<'_>,
    cluster: ClusterId,
    capabilities: Capabilities,
) -> Option<Work> {
    let mut payload = Vec::new();
    match statement {
        // The client sends its file only once.
        Statement::Text(query) if query.facts.kind == StatementKind::Load => None,
        Statement::Text(query) => {
            let (attributes, text) = (b"".as_slice(), query.text());
            Query { attributes, text }.encode(capabilities, &mut payload);
            let mut packets = Vec::new();
            wire::write::put_packets(&mut packets, 0, &payload);
            Some(Work::Query(packets))
        }
        Statement::Execution(executing) if !executing.long_data.is_empty() => None,
        Statement::Execution(executing) => {
            let execute = &executing.execute;
            Execute {
                statement_id: 0,
                flags: execute.flags & Execute::PARAMETER_COUNT_AVAILABLE,
                types: executing.types.as_deref(),
                ..*execute
            }
            .encode(capabilities, &mut payload);
            let key = key_in(&executing.key, cluster);
            Some(Work::Execute(key, executing.parameter_count, payload))
        }
        // The argument has all rows and the types in it.
        Statement::Bulk(bulk) => {
            payload.push(Command::STMT_BULK_EXECUTE.0);
            payload.extend_from_slice(bulk.argument);
            let key = key_in(&bulk.key, cluster);
            Some(Work::BulkExecute(key, bulk.parameter_count, payload))
        }
        Statement::Command(_) => None,
    }
}

/// The same prepared statement in another cluster.
fn key_in(key: &StatementKey, cluster: ClusterId) -> StatementKey {
    StatementKey {
        cluster,
        cursor: None,
        ..key.clone()
    }
}
