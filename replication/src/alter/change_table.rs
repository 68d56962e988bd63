//! Builds the ALTER TABLE statements that turn one definition of a table into another.

use super::table::{Element, Table, parse};

/// The steps from one definition to another.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TableSteps {
    /// Statements, without semicolons.
    pub statements: Vec<String>,
    /// What the statements do not change, and why.
    pub remarks: Vec<String>,
}

/// Types whose columns have the table's character set unless their definition names another.
const OF_CHARACTERS: [&str; 7] = [
    "char",
    "varchar",
    "text",
    "tinytext",
    "mediumtext",
    "longtext",
    "enum",
];

/// Returns the steps for a table. `name` is quoted. The definitions are the output of SHOW CREATE TABLE.
pub fn change_table(name: &str, before: &str, after: &str) -> TableSteps {
    let mut steps = TableSteps::default();
    let (Some(old), Some(new)) = (parse(before), parse(after)) else {
        let remark = "a definition is not one that SHOW CREATE TABLE prints";
        steps.remarks.push(remark.to_owned());
        return steps;
    };
    let statement = |clauses: Vec<String>| {
        let text = clauses.join(",\n  ");
        (!text.is_empty()).then(|| format!("ALTER TABLE {name}\n  {text}"))
    };
    // Set the table's options first: a column without its own character set takes the table's, which must be the
    // new one.
    let options = options(&old, &new, &mut steps.remarks);
    let is_recoded = ["DEFAULT CHARSET", "COLLATE"]
        .iter()
        .any(|it| old.option(it) != new.option(it));
    // Drop foreign keys first, because an index that a foreign key needs cannot be dropped. Add constraints last,
    // because a dropped constraint's name is free only after its statement.
    let dropped = without(&old.foreign_keys, &new.foreign_keys);
    let first = dropped
        .map(|key| format!("DROP FOREIGN KEY {}", key.name))
        .collect();
    let mut main = drops(&old, &new);
    main.extend(columns(&old, &new, is_recoded));
    main.extend(without(&new.keys, &old.keys).map(|key| format!("ADD {}", key.text)));
    let mut last: Vec<String> = Vec::new();
    for added in [
        (&new.checks, &old.checks),
        (&new.foreign_keys, &old.foreign_keys),
    ] {
        last.extend(without(added.0, added.1).map(|it| format!("ADD {}", it.text)));
    }
    steps.statements.extend(
        [first, options, main, last]
            .into_iter()
            .filter_map(statement),
    );
    steps.statements.extend(partitions(name, &old, &new));
    if old.other_elements != new.other_elements {
        steps.remarks.push(format!(
            "these parts are not derived: {:?} to {:?}",
            old.other_elements, new.other_elements
        ));
    }
    steps
}

/// Returns the elements of the first list that the second list does not contain unchanged.
fn without<'a>(
    all: &'a [Element<'a>],
    other_elements: &'a [Element<'a>],
) -> impl Iterator<Item = &'a Element<'a>> {
    all.iter()
        .filter(|element| !other_elements.contains(element))
}

fn find<'a>(all: &[Element<'a>], name: &str) -> Option<Element<'a>> {
    all.iter().find(|element| element.name == name).copied()
}

/// Returns clauses that drop checks, indexes and columns.
fn drops(old: &Table<'_>, new: &Table<'_>) -> Vec<String> {
    let mut clauses: Vec<String> = Vec::new();
    clauses
        .extend(without(&old.checks, &new.checks).map(|it| format!("DROP CONSTRAINT {}", it.name)));
    clauses.extend(without(&old.keys, &new.keys).map(|key| match key.name {
        "" => "DROP PRIMARY KEY".to_owned(),
        name => format!("DROP KEY {name}"),
    }));
    let gone = old
        .columns
        .iter()
        .filter(|column| find(&new.columns, column.name).is_none());
    clauses.extend(gone.map(|column| format!("DROP COLUMN {}", column.name)));
    clauses
}

/// Returns clauses for columns that are added, changed or moved. As few columns as possible are moved.
fn columns(old: &Table<'_>, new: &Table<'_>, is_recoded: bool) -> Vec<String> {
    let place = |name: &str| old.columns.iter().position(|column| column.name == name);
    let kept: Vec<usize> = new
        .columns
        .iter()
        .filter_map(|column| place(column.name))
        .collect();
    let stays = longest_rise(&kept);
    let mut clauses = Vec::new();
    let mut before: Option<&str> = None;
    for column in &new.columns {
        let position = match before {
            Some(name) => format!("AFTER {name}"),
            None => "FIRST".to_owned(),
        };
        before = Some(column.name);
        let Some(at) = place(column.name) else {
            clauses.push(format!("ADD COLUMN {} {position}", column.text));
            continue;
        };
        let is_same =
            old.columns[at].text == column.text && !(is_recoded && is_of_characters(column));
        match stays.contains(&at) {
            true if is_same => (),
            true => clauses.push(format!("MODIFY COLUMN {}", column.text)),
            false => clauses.push(format!("MODIFY COLUMN {} {position}", column.text)),
        }
    }
    clauses
}

/// Whether a column has the character set of its table.
fn is_of_characters(column: &Element<'_>) -> bool {
    let kind = column.text[column.name.len()..].trim_start();
    let kind = kind
        .split(|character: char| !character.is_ascii_alphabetic())
        .next();
    kind.is_some_and(|kind| OF_CHARACTERS.contains(&kind) || kind == "set")
}

/// Returns the longest increasing subsequence.
fn longest_rise(numbers: &[usize]) -> Vec<usize> {
    // For each number: the length of the longest increasing subsequence that ends with it, and its previous index
    // there.
    let mut ends: Vec<(usize, Option<usize>)> = Vec::new();
    for (at, number) in numbers.iter().enumerate() {
        let before = (0..at)
            .filter(|&it| numbers[it] < *number)
            .max_by_key(|&it| ends[it].0);
        ends.push((before.map_or(1, |it| ends[it].0 + 1), before));
    }
    let mut at = (0..numbers.len()).max_by_key(|&it| ends[it].0);
    let mut rise = Vec::new();
    while let Some(place) = at {
        rise.push(numbers[place]);
        at = ends[place].1;
    }
    rise
}

/// Returns the clause for changed options. Options that are gone get their default, if SQL has a way to write it.
fn options(old: &Table<'_>, new: &Table<'_>, remarks: &mut Vec<String>) -> Vec<String> {
    let is_of_charset =
        |option: &Element<'_>| ["DEFAULT CHARSET", "COLLATE"].contains(&option.name);
    let mut set: Vec<&str> = without(&new.options, &old.options)
        .map(|option| option.text)
        .collect();
    if without(&new.options, &old.options).any(is_of_charset) {
        // A collation can only be set together with its character set.
        set.extend(
            new.options
                .iter()
                .filter(|it| is_of_charset(it))
                .map(|it| it.text),
        );
        set.sort_by_key(|text| new.options.iter().position(|option| option.text == *text));
        set.dedup();
    }
    let gone = old
        .options
        .iter()
        .filter(|option| find(&new.options, option.name).is_none());
    for option in gone {
        match option.name {
            "COMMENT" => set.push("COMMENT=''"),
            "ROW_FORMAT" => set.push("ROW_FORMAT=DEFAULT"),
            "STATS_PERSISTENT" | "STATS_AUTO_RECALC" | "STATS_SAMPLE_PAGES" => {
                remarks.push(format!(
                    "{} stays: write {}=DEFAULT",
                    option.text, option.name
                ));
            }
            // SHOW CREATE TABLE omits the collation if it is the default of the character set.
            "COLLATE" => (),
            _ => remarks.push(format!("the option {} stays", option.text)),
        }
    }
    match set.is_empty() {
        true => Vec::new(),
        false => vec![set.join(" ")],
    }
}

fn partitions(name: &str, old: &Table<'_>, new: &Table<'_>) -> Option<String> {
    match (old.partitions, new.partitions) {
        (old, new) if old == new => None,
        (_, Some(new)) => Some(format!("ALTER TABLE {name}\n{new}")),
        (_, None) => Some(format!("ALTER TABLE {name} REMOVE PARTITIONING")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(body: &str, options: &str) -> String {
        format!("CREATE TABLE `t` (\n  {body}\n) {options}")
    }

    fn steps(before: (&str, &str), after: (&str, &str)) -> String {
        let steps = change_table("`t`", &table(before.0, before.1), &table(after.0, after.1));
        assert_eq!(steps.remarks, [] as [&str; 0]);
        steps.statements.join(";").replace("\n  ", " ")
    }

    const INNODB: &str = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";

    #[test]
    fn column_changes_become_one_alter_table() {
        let before = ("`a` int,\n  `b` int,\n  `c` int,\n  `d` int", INNODB);
        assert_eq!(steps(before, before), "");
        assert_eq!(
            steps(
                before,
                ("`a` int,\n  `x` int,\n  `b` bigint,\n  `d` int", INNODB)
            ),
            "ALTER TABLE `t` DROP COLUMN `c`, ADD COLUMN `x` int AFTER `a`, MODIFY COLUMN `b` bigint"
        );
        assert_eq!(
            steps(
                before,
                ("`d` int,\n  `a` int,\n  `b` int,\n  `c` int", INNODB)
            ),
            "ALTER TABLE `t` MODIFY COLUMN `d` int FIRST"
        );
    }

    #[test]
    fn keys_and_constraints_come_and_go() {
        let before = (
            "`a` int,\n  PRIMARY KEY (`a`),\n  KEY `k` (`a`),\n  CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `o` (`i`),\n  \
             CONSTRAINT `c` CHECK (`a` > 0)",
            INNODB,
        );
        let after = (
            "`a` int,\n  KEY `k` (`a`,`b`),\n  CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`i`)",
            INNODB,
        );
        assert_eq!(
            steps(before, after),
            "ALTER TABLE `t` DROP FOREIGN KEY `f`;\
             ALTER TABLE `t` DROP CONSTRAINT `c`, DROP PRIMARY KEY, DROP KEY `k`, ADD KEY `k` (`a`,`b`);\
             ALTER TABLE `t` ADD CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`i`)"
        );
    }

    #[test]
    fn options_and_partitions_change() {
        let before = (
            "`a` varchar(3),\n  `n` int",
            "ENGINE=InnoDB DEFAULT CHARSET=latin1 COMMENT='x'",
        );
        let after = (
            "`a` varchar(3),\n  `n` int",
            "ENGINE=Aria DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
        );
        assert_eq!(
            steps(before, after),
            "ALTER TABLE `t` ENGINE=Aria DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='';\
             ALTER TABLE `t` MODIFY COLUMN `a` varchar(3)"
        );
        let parts = format!("{INNODB}\n PARTITION BY HASH (`a`)\nPARTITIONS 4");
        let (plain, split) = (("`a` int", INNODB), ("`a` int", parts.as_str()));
        assert_eq!(
            steps(plain, split),
            "ALTER TABLE `t`\nPARTITION BY HASH (`a`)\nPARTITIONS 4"
        );
        assert_eq!(steps(split, plain), "ALTER TABLE `t` REMOVE PARTITIONING");
    }

    #[test]
    fn underivable_changes_are_reported() {
        let definition = table("`a` int", "ENGINE=InnoDB");
        let steps = change_table(
            "`t`",
            &definition,
            &table("`a` int", "ENGINE=InnoDB PAGE_COMPRESSED=1"),
        );
        assert_eq!(steps.statements, ["ALTER TABLE `t`\n  PAGE_COMPRESSED=1"]);
        let steps = change_table(
            "`t`",
            &table("`a` int", "ENGINE=InnoDB PAGE_COMPRESSED=1"),
            &definition,
        );
        assert_eq!(steps.remarks, ["the option PAGE_COMPRESSED=1 stays"]);
        assert_eq!(
            change_table("`t`", "a masked text", &definition)
                .remarks
                .len(),
            1
        );
    }
}
