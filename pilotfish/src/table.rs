//! Tables for people, in a terminal or a pipe: aligned columns, numbers on the right. In a terminal the head is
//! bold and states have colours; `NO_COLOR` in the environment turns both off.

use std::io::IsTerminal as _;

/// How a table looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without colours.
    Plain,
    /// With colours.
    Coloured,
}

/// The widest that a column becomes. The last column has no limit, because nothing follows it.
const WIDTH_MAX: usize = 100;

impl Style {
    /// The style for standard output.
    pub fn of_stdout() -> Self {
        let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
        match is_wanted && std::io::stdout().is_terminal() {
            true => Self::Coloured,
            false => Self::Plain,
        }
    }

    fn paint(self, text: String, code: &str) -> String {
        match self {
            Self::Plain => text,
            Self::Coloured if code.is_empty() => text,
            Self::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// The colour of a state.
fn colour(text: &str) -> &'static str {
    match text {
        "up" => "32",
        "down" | "disabled" => "31",
        "draining" | "connecting" => "33",
        _ => "",
    }
}

/// Writes rows below their head; without a head only the rows. `numeric` says which columns are numbers.
pub fn table(head: &[String], rows: &[Vec<String>], numeric: &[bool], style: Style) -> String {
    let count = head.len().max(rows.first().map_or(0, Vec::len));
    let cut = |(column, text): (usize, &String)| {
        let is_last = column + 1 == count;
        match !is_last && text.chars().count() > WIDTH_MAX {
            true => text.chars().take(WIDTH_MAX - 1).chain(['…']).collect(),
            false => text.clone(),
        }
    };
    let rows = rows
        .iter()
        .map(|row| row.iter().enumerate().map(cut).collect());
    let rows: Vec<Vec<String>> = rows.collect();
    let width = |column: usize| {
        let of = |row: &[String]| row.get(column).map_or(0, |it| it.chars().count());
        rows.iter()
            .map(|row| of(row))
            .max()
            .unwrap_or(0)
            .max(of(head))
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    let mut line = |row: &[String], is_head: bool| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let is_last = column + 1 == count;
            let width = widths.get(column).copied().unwrap_or(0);
            let padded = match numeric.get(column) {
                Some(true) => format!("{cell:>width$}"),
                _ if is_last => cell.clone(),
                _ => format!("{cell:width$}"),
            };
            style.paint(padded, if is_head { "1" } else { colour(cell) })
        });
        let cells: Vec<String> = cells.collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    };
    if !head.is_empty() {
        line(head, true);
    }
    for row in &rows {
        line(row, false);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn numbers_stand_to_the_right_and_the_last_column_has_no_blanks_behind() {
        let rows = [row(&["db1", "5", "up"]), row(&["archive", "1200", "down"])];
        let shown = table(
            &row(&["name", "sessions", "state"]),
            &rows,
            &[false, true, false],
            Style::Plain,
        );
        assert_eq!(
            shown,
            "name     sessions  state\ndb1             5  up\narchive      1200  down\n"
        );
    }

    #[test]
    fn colours_are_for_terminals_and_do_not_move_columns() {
        let rows = [row(&["up", "x"])];
        let shown = table(&row(&["state", "name"]), &rows, &[], Style::Coloured);
        assert_eq!(
            shown,
            "\x1b[1mstate\x1b[0m  \x1b[1mname\x1b[0m\n\x1b[32mup   \x1b[0m  x\n"
        );
        assert!(!table(&row(&["state", "name"]), &rows, &[], Style::Plain).contains('\x1b'));
    }

    #[test]
    fn long_texts_are_cut_unless_they_come_last() {
        let long = "x".repeat(300);
        let shown = table(&[], &[row(&[&long, &long])], &[], Style::Plain);
        assert_eq!(shown.chars().count(), WIDTH_MAX + 2 + 300 + 1);
    }
}
