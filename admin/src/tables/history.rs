//! The history of digests and that of the load, interval by interval.

use history::{DIGEST_HISTORY as DIGESTS, HistoryValue, HistoryView, LOAD_HISTORY as LOAD};

use crate::kept_table::{HISTORY, KeptTable};
use crate::table::{CellType, ColumnFacts};

/// The cost of digests.
pub static DIGEST_HISTORY: KeptTable = KeptTable {
    home: HISTORY,
    name: DIGESTS.name,
    about: DIGESTS.about,
    columns: || columns(&DIGESTS),
};

/// The load of the proxy and of its backends.
pub static LOAD_HISTORY: KeptTable = KeptTable {
    home: HISTORY,
    name: LOAD.name,
    about: LOAD.about,
    columns: || columns(&LOAD),
};

fn columns(view: &HistoryView) -> Vec<ColumnFacts> {
    let columns = view.columns.iter().map(|column| ColumnFacts {
        name: column.name,
        kind: match column.kind {
            HistoryValue::Integer => CellType::Integer,
            HistoryValue::Text => CellType::Text,
        },
        unit: column.unit,
        about: column.about,
    });
    columns.collect()
}
