//! The figures on the screen: the rows of the last sample, the growth since the sample before, and the sort order.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use super::screen::{ColumnKind, SCREENS, Screen};

/// The number of throughput values that the curve keeps.
const HISTORY: usize = 300;

/// The figures of one moment.
#[derive(Debug, Clone)]
pub struct Sample {
    /// When it was taken.
    pub at: Instant,
    /// Statements so far, sessions, and sessions that run a statement.
    pub totals: [u64; 3],
    /// The screen that the rows are for.
    pub screen: usize,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// See the module.
#[derive(Default)]
pub struct Figures {
    /// The screen that is shown.
    pub screen: usize,
    /// The rows as they are shown.
    pub rows: Vec<Vec<String>>,
    /// The column to sort by, for each screen; and whether the order is reversed.
    pub sort: Vec<(usize, bool)>,
    /// The row that is marked.
    pub marked: usize,
    /// Statements per second, the latest last.
    pub throughput: VecDeque<u64>,
    /// Sessions, and sessions that run a statement.
    pub sessions: [u64; 2],
    /// The error of the last sample, if it failed.
    pub fault: Option<String>,
    /// Whether sampling is paused.
    pub is_paused: bool,
    /// A text that shown rows must contain.
    pub filter: String,
    /// Whether the filter is being typed.
    pub is_typing: bool,
    last: Option<Sample>,
    before: Option<Sample>,
}

impl Figures {
    /// Figures without a sample.
    pub fn new() -> Self {
        Self {
            sort: SCREENS.iter().map(|it| (it.sort, false)).collect(),
            ..Self::default()
        }
    }

    /// The screen that is shown.
    pub fn screen(&self) -> &'static Screen {
        &SCREENS[self.screen]
    }

    /// Switches to another screen.
    pub fn show_screen(&mut self, screen: usize) {
        if self.screen != screen && screen < SCREENS.len() {
            self.screen = screen;
            self.marked = 0;
            self.rows.clear();
        }
    }

    /// Sorts by the next column, or by the one before.
    pub fn sort_by(&mut self, step: isize) {
        let count = self.screen().columns.len() as isize;
        let (column, _) = self.sort[self.screen];
        let mut next = (column as isize + step).rem_euclid(count) as usize;
        if self.screen().columns[next].title.is_empty() {
            next = (next as isize + step).rem_euclid(count) as usize;
        }
        self.sort[self.screen] = (next, false);
        self.arrange();
    }

    /// Reverses the sort order.
    pub fn reverse(&mut self) {
        let (column, is_reversed) = self.sort[self.screen];
        self.sort[self.screen] = (column, !is_reversed);
        self.arrange();
    }

    /// Moves the mark to another row.
    pub fn mark(&mut self, step: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.marked = self.marked.saturating_add_signed(step).min(last);
    }

    /// Takes in a sample.
    pub fn take(&mut self, look: Sample) {
        self.fault = None;
        if let Some(last) = &self.last {
            let grown = look.totals[0].saturating_sub(last.totals[0]);
            let seconds = look.at.duration_since(last.at).as_secs_f64();
            self.throughput
                .push_back((grown as f64 / seconds.max(0.001)).round() as u64);
            if self.throughput.len() > HISTORY {
                self.throughput.pop_front();
            }
        }
        self.sessions = [look.totals[1], look.totals[2]];
        self.before = self.last.replace(look);
        self.arrange();
    }

    /// Computes the rows to show: growth, filter, sort order.
    pub fn arrange(&mut self) {
        let Some(last) = self.last.as_ref().filter(|it| it.screen == self.screen) else {
            return;
        };
        let before = self.before.as_ref().filter(|it| it.screen == self.screen);
        let mut rows: Vec<_> = last
            .rows
            .iter()
            .map(|row| self.grown(row, last, before))
            .collect();
        let filter = self.filter.to_lowercase();
        rows.retain(|row| row.iter().any(|cell| cell.to_lowercase().contains(&filter)));
        let (column, is_reversed) = self.sort[self.screen];
        let is_text = self.screen().columns[column].kind == ColumnKind::Text;
        rows.sort_by(|a, b| {
            let order = compare(&a[column], &b[column], is_text);
            if is_reversed { order.reverse() } else { order }
        });
        self.rows = rows;
        self.mark(0);
    }

    /// A row with growing values as growth per second.
    fn grown(&self, row: &[String], last: &Sample, before: Option<&Sample>) -> Vec<String> {
        let earlier: HashMap<&str, &Vec<String>> = before
            .iter()
            .flat_map(|it| &it.rows)
            .filter_map(|row| Some((row.first()?.as_str(), row)))
            .collect();
        let earlier = row.first().and_then(|key| earlier.get(key.as_str()));
        let seconds = before.map_or(0.0, |it| last.at.duration_since(it.at).as_secs_f64());
        let columns = self.screen().columns.iter().enumerate();
        let cell = |(index, column): (usize, &super::screen::Column)| {
            let now = row.get(index).cloned().unwrap_or_default();
            if !matches!(column.kind, ColumnKind::Rate | ColumnKind::Share) {
                return now;
            }
            let count = |text: Option<&String>| text.and_then(|it| it.parse::<u64>().ok());
            let was = count(earlier.and_then(|row| row.get(index)));
            let grown = count(Some(&now)).zip(was.or(before.map(|_| 0)));
            match grown {
                Some((now, was)) if seconds > 0.0 => {
                    let rate = now.saturating_sub(was) as f64 / seconds;
                    match column.kind {
                        ColumnKind::Share => format!("{:.3}", rate / 1e6),
                        _ => format!("{rate:.0}"),
                    }
                }
                _ => String::new(),
            }
        };
        columns.map(cell).collect()
    }
}

/// The sort order: numbers descending, texts ascending, empty values last.
fn compare(a: &str, b: &str, is_text: bool) -> Ordering {
    match (is_text, a.parse::<f64>(), b.parse::<f64>()) {
        (true, ..) => a.is_empty().cmp(&b.is_empty()).then_with(|| a.cmp(b)),
        (false, Ok(a), Ok(b)) => b.total_cmp(&a),
        (false, Ok(_), Err(_)) => Ordering::Less,
        (false, Err(_), Ok(_)) => Ordering::Greater,
        (false, Err(_), Err(_)) => Ordering::Equal,
    }
}
