//! Tables whose rows are in the configuration: columns for the state, and a column for each setting. These rows
//! can be changed.

use std::sync::OnceLock;

use config::manual::plain;
use config::{Section, ValueType as SettingKind};

use crate::table::{Alterable, Asks, Cell, CellType, ColumnFacts, Schema, Table, TableDefinition};
use crate::table_input::TableInput;

/// A table that can be changed.
pub struct Defined<T: 'static> {
    /// The columns for the state.
    pub table: TableDefinition<T>,
    /// How rows are changed.
    pub alterable: Alterable,
    /// The columns for the settings that `table` does not have.
    pub definition: Option<Definition<T>>,
}

/// The columns of a section's settings.
pub struct Definition<T: 'static> {
    columns: fn() -> Vec<ColumnFacts>,
    cells: fn(&TableInput, &T) -> Vec<Cell>,
    facts: OnceLock<Vec<ColumnFacts>>,
}

impl<T> Definition<T> {
    /// A definition from the columns and their values.
    pub const fn new(
        columns: fn() -> Vec<ColumnFacts>,
        cells: fn(&TableInput, &T) -> Vec<Cell>,
    ) -> Self {
        Self {
            columns,
            cells,
            facts: OnceLock::new(),
        }
    }

    fn facts(&self) -> &[ColumnFacts] {
        self.facts.get_or_init(self.columns)
    }
}

/// A column for each setting of a section.
pub fn columns<C>(section: &Section<C>) -> Vec<ColumnFacts> {
    let columns = section.settings.iter().map(|setting| ColumnFacts {
        name: setting.column(),
        kind: match setting.kind {
            SettingKind::Count | SettingKind::Truth => CellType::Integer,
            _ => CellType::Text,
        },
        unit: None,
        // This leaks memory once per setting in the life of the process.
        about: Box::leak(format!("{}.", setting.summary()).into_boxed_str()),
    });
    columns.collect()
}

/// The values of an item's settings; NULL for an item that is not configured.
pub fn cells<C>(section: &Section<C>, item: Option<&C>) -> Vec<Cell> {
    let cell = |setting: &config::Setting<C>| {
        let Some(item) = item else {
            return Cell::Null;
        };
        let shown = (setting.show)(item);
        match (&*plain(&shown), setting.kind) {
            ("" | "[]", _) => Cell::Null,
            ("true", SettingKind::Truth) => Cell::Integer(1),
            ("false", SettingKind::Truth) => Cell::Integer(0),
            (number, SettingKind::Count) => number.parse().map_or(Cell::Null, Cell::Integer),
            (value, _) => Cell::Text(value.to_owned()),
        }
    };
    section.settings.iter().map(cell).collect()
}

impl<T> Defined<T> {
    /// Whether a column of the definition is shown: only if `table` has no column of that name.
    fn is_shown(&self, column: &ColumnFacts) -> bool {
        let mut columns = self.table.columns().into_iter();
        columns.all(|it| it.name != column.name)
    }
}

impl<T> Table for Defined<T> {
    fn schema(&self) -> Schema {
        self.table.schema
    }

    fn name(&self) -> &'static str {
        self.table.name
    }

    fn about(&self) -> &'static str {
        self.table.about
    }

    fn asks(&self) -> Asks {
        self.table.asks
    }

    fn columns(&self) -> Vec<ColumnFacts> {
        let mut columns = self.table.columns();
        let defined = self.definition.as_ref().map_or(&[][..], Definition::facts);
        columns.extend(defined.iter().filter(|column| self.is_shown(column)));
        columns
    }

    fn rows(&self, input: &TableInput) -> Vec<Vec<Cell>> {
        let items = (self.table.items)(input);
        let Some(definition) = &self.definition else {
            return items.iter().map(|item| self.table.row(item)).collect();
        };
        let facts = definition.facts().iter();
        let shown: Vec<bool> = facts.map(|column| self.is_shown(column)).collect();
        let row = |item: &T| {
            let mut row = self.table.row(item);
            let cells = (definition.cells)(input, item).into_iter().zip(&shown);
            row.extend(cells.filter_map(|(cell, shown)| shown.then_some(cell)));
            row
        };
        items.iter().map(row).collect()
    }

    fn alterable(&self) -> Option<&Alterable> {
        Some(&self.alterable)
    }
}
