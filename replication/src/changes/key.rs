//! The primary key of a row that has changed, as JSON: the key of a record in Kafka.

use binlog::{RowChange, TableMap};

use super::event::put_name;
use super::value::put_value;

/// Returns the values of the primary key after the change, as a JSON object. None if the table has no primary key,
/// or if the key or one of its values is not known.
pub fn row_key(change: &RowChange<'_>, table: &TableMap) -> Option<String> {
    if table.primary_key.is_empty() {
        return None;
    }
    let images = [change.after.as_ref(), change.before.as_ref()];
    let mut out = String::from("{");
    for (number, key) in table.primary_key.iter().enumerate() {
        let column = table.columns.get(key.column)?;
        // An image may omit a column that has not changed, so look in the other image, too.
        let mut values = images.iter().flatten();
        let value = values.find_map(|it| it.values.get(key.column)?.as_ref())?;
        out.push_str(if number > 0 { "," } else { "" });
        put_name(&mut out, column, key.column);
        out.push(':');
        put_value(&mut out, value, column);
    }
    out.push('}');
    Some(out)
}
