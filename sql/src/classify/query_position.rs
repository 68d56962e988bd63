//! The position of a token in a query: in a list of tables, in a function's arguments, in definitions.

use crate::facts::Role;

/// The position in the parentheses of a query. Each level has one bit; levels deeper than the 63rd
/// share a bit.
#[derive(Default)]
pub(crate) struct QueryPosition {
    depth: u32,
    /// Levels in a list of tables, in which another table follows a comma.
    lists: u64,
    /// Levels that are the arguments of a function, in which no table follows FROM.
    arguments: u64,
    /// Levels whose tables are written.
    writes: u64,
    /// A table comes next.
    pub expects_table: bool,
    /// Inside definitions of columns, in which a word with parentheses is a type or a key and not a call.
    pub in_definitions: bool,
    /// Inside rows of VALUES that contain only values so far.
    pub in_rows: bool,
    /// Ends before the parenthesis that it did not open.
    pub is_nested: bool,
    /// Ends before a comma, or FOR, outside all parentheses.
    pub is_value: bool,
}

impl QueryPosition {
    /// At the beginning of a query.
    pub fn of_query() -> Self {
        Self::default()
    }

    /// In definitions of columns.
    pub fn of_definitions() -> Self {
        Self {
            in_definitions: true,
            ..Self::default()
        }
    }

    /// In a query in parentheses, after the opening parenthesis.
    pub fn of_nested_query() -> Self {
        Self {
            is_nested: true,
            ..Self::default()
        }
    }

    /// At the beginning of a value in a list of assignments.
    pub fn of_value() -> Self {
        Self {
            is_value: true,
            ..Self::default()
        }
    }

    /// Before the tables that a statement writes.
    pub fn of_written_tables() -> Self {
        Self {
            lists: 1,
            writes: 1,
            expects_table: true,
            ..Self::default()
        }
    }

    const fn bit(&self) -> u64 {
        1 << if self.depth < 63 { self.depth } else { 63 }
    }

    /// How many parentheses are open.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether a token here is outside all parentheses that were opened.
    pub const fn is_outermost(&self) -> bool {
        self.depth == 0
    }

    /// Opens a parenthesis. `of_function`: whether it contains a function's arguments.
    pub fn open(&mut self, of_function: bool) {
        let goes_on = self.expects_table;
        let writes = self.writes & self.bit() != 0;
        self.depth += 1;
        let bit = self.bit();
        self.lists = if goes_on {
            self.lists | bit
        } else {
            self.lists & !bit
        };
        self.arguments = if of_function {
            self.arguments | bit
        } else {
            self.arguments & !bit
        };
        self.writes = if goes_on && writes {
            self.writes | bit
        } else {
            self.writes & !bit
        };
    }

    pub fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.expects_table = false;
    }

    pub fn comma(&mut self) {
        self.expects_table = self.lists & self.bit() != 0;
    }

    /// Begins a SELECT: clears the state of this level.
    pub fn select(&mut self) {
        let bit = self.bit();
        self.lists &= !bit;
        self.arguments &= !bit;
        self.writes &= !bit;
        self.expects_table = false;
        self.in_definitions = false;
    }

    /// Begins a list of tables, as after FROM.
    pub fn begin_tables(&mut self) {
        self.lists |= self.bit();
        self.expects_table = true;
    }

    /// Ends a list of tables.
    pub fn end_tables(&mut self) {
        self.lists &= !self.bit();
        self.expects_table = false;
    }

    pub const fn is_in_list(&self) -> bool {
        self.lists & self.bit() != 0
    }

    pub const fn is_in_arguments(&self) -> bool {
        self.arguments & self.bit() != 0
    }

    /// Returns the role of a table that is named here.
    pub const fn role(&self) -> Role {
        if self.writes & self.bit() != 0 {
            Role::TableWritten
        } else {
            Role::TableRead
        }
    }
}
