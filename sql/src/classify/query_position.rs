//! Where in a query a token stands: in a list of tables, in a function's arguments, in definitions.

use crate::facts::Role;

/// Where the walk stands in the parentheses of a query. One bit a level; levels below the 63rd
/// share theirs.
#[derive(Default)]
pub(crate) struct QueryPosition {
    depth: u32,
    /// Levels in a list of tables, where a comma is followed by another.
    lists: u64,
    /// Levels that are the arguments of a function, where FROM names no table.
    arguments: u64,
    /// Levels whose tables are written.
    writes: u64,
    /// A table comes next.
    pub expects_table: bool,
    /// Definitions of columns: what looks like a call is a type or a key.
    pub in_definitions: bool,
    /// Rows of VALUES, so far of nothing but values.
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

    /// In a query in parentheses, of which the first is passed.
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

    /// Where tables come next that a statement writes.
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

    /// A parenthesis, of a function's arguments or not.
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

    /// SELECT: what was said of this level is over.
    pub fn select(&mut self) {
        let bit = self.bit();
        self.lists &= !bit;
        self.arguments &= !bit;
        self.writes &= !bit;
        self.expects_table = false;
        self.in_definitions = false;
    }

    /// A list of tables begins, as behind FROM.
    pub fn begin_tables(&mut self) {
        self.lists |= self.bit();
        self.expects_table = true;
    }

    /// … and ends.
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

    /// What a table that is named here is there for.
    pub const fn role(&self) -> Role {
        if self.writes & self.bit() != 0 {
            Role::TableWritten
        } else {
            Role::TableRead
        }
    }
}
