//! The layout: the throughput at the top, the rows of one screen below it, the keys at the bottom.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Row, Sparkline, Table, TableState, Tabs};

use super::figures::Figures;
use super::screen::{ColumnKind, SCREENS, Screen};

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, figures: &Figures, title: &str) {
    let [head, tabs, body, foot] = Layout::vertical([
        Constraint::Length(5),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_throughput(frame, head, figures, title);
    let names = SCREENS.iter().enumerate();
    let names = names.map(|(index, screen)| format!("{} {}", index + 1, screen.name));
    let shown = Tabs::new(names).select(figures.screen);
    frame.render_widget(shown.highlight_style(Modifier::REVERSED), tabs);
    draw_rows(frame, body, figures);
    frame.render_widget(foot_line(figures), foot);
}

fn draw_throughput(frame: &mut Frame<'_>, area: Rect, figures: &Figures, title: &str) {
    let now = figures.throughput.back();
    let now = now.map_or_else(|| "–".to_owned(), |it| grouped(&it.to_string()));
    let [sessions, running] = figures.sessions;
    let heading =
        format!(" {title}   {now} statements/s   {sessions} sessions, {running} running ");
    let block = Block::bordered().title(heading.bold());
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let skip = figures.throughput.len().saturating_sub(inside.width.into());
    let curve: Vec<u64> = figures.throughput.iter().skip(skip).copied().collect();
    frame.render_widget(Sparkline::default().data(curve).style(Color::Cyan), inside);
}

fn draw_rows(frame: &mut Frame<'_>, area: Rect, figures: &Figures) {
    let screen = figures.screen();
    let (sorted, is_reversed) = figures.sort[figures.screen];
    let shown = fitting(screen, sorted, area.width);
    let titles = shown.iter().map(|&index| {
        let column = &screen.columns[index];
        let arrow = match (index == sorted, is_reversed) {
            (true, false) => "▼",
            (true, true) => "▲",
            (false, _) => "",
        };
        let title = Line::from(format!("{}{arrow}", column.title));
        Cell::from(aligned(title, column.kind))
    });
    let header = Row::new(titles).style(Modifier::BOLD);
    let rows = figures.rows.iter().map(|row| {
        let cells = screen.columns.iter().zip(row).enumerate();
        let cells = cells.filter(|(index, _)| shown.contains(index));
        Row::new(cells.map(|(_, (column, text))| {
            let shown = Line::from(spelled(text, column.kind));
            Cell::from(aligned(shown, column.kind)).style(colour(text, column.title))
        }))
    });
    let widths = shown.iter().map(|&index| screen.columns[index].width);
    let table = Table::new(rows, widths)
        .header(header)
        .row_highlight_style(Modifier::REVERSED);
    let mut state = TableState::default().with_selected(Some(figures.marked));
    frame.render_stateful_widget(table, area, &mut state);
}

/// The columns for which there is room. A number is never cut, because without its first digits it would be another
/// number. The column to sort by always stays.
fn fitting(screen: &Screen, sorted: usize, room: u16) -> Vec<usize> {
    let least = |&index: &usize| match screen.columns[index].width {
        Constraint::Length(cells) | Constraint::Min(cells) => cells,
        _ => 0,
    };
    let mut shown: Vec<usize> = (0..screen.columns.len())
        .filter(|index| least(index) > 0)
        .collect();
    for title in screen.spare {
        // One cell separates two columns.
        let needed: u16 = shown.iter().map(|index| least(index) + 1).sum();
        if needed <= room + 1 {
            break;
        }
        shown.retain(|&index| index == sorted || screen.columns[index].title != *title);
    }
    shown
}

fn foot_line(figures: &Figures) -> Line<'_> {
    if let Some(fault) = &figures.fault {
        return Line::from(format!(" {fault}")).style(Color::Red);
    }
    if figures.is_typing || !figures.filter.is_empty() {
        let hint = match figures.is_typing {
            true => "   Enter: done, Esc: all rows",
            false => "   /: another, Esc: all rows",
        };
        return Line::from(vec![
            Span::from(" rows with: "),
            Span::from(&*figures.filter).bold(),
            Span::from(hint).dim(),
        ]);
    }
    let pause = match figures.is_paused {
        true => "p goes on",
        false => "p pauses",
    };
    Line::from(format!(
        " 1-{} or Tab: screen   ←→: sort by   r: reverse   ↑↓: mark   /: filter   {pause}   q: quit",
        SCREENS.len()
    ))
    .style(Modifier::DIM)
}

fn aligned(line: Line<'_>, kind: ColumnKind) -> Line<'_> {
    match kind {
        ColumnKind::Text => line,
        ColumnKind::Number | ColumnKind::Time | ColumnKind::Rate | ColumnKind::Share => {
            line.right_aligned()
        }
    }
}

fn colour(text: &str, column: &str) -> Style {
    match (column, text) {
        ("state", "down") => Color::Red.into(),
        ("state", "up") => Color::Green.into(),
        ("state", state) if state.contains("disabled") || state.contains("draining") => {
            Color::Yellow.into()
        }
        ("errors", count) if count != "0" && !count.is_empty() => Color::Red.into(),
        ("answers", "no") => Color::Red.into(),
        _ => Style::default(),
    }
}

/// A value in a form for people.
fn spelled(text: &str, kind: ColumnKind) -> String {
    match (kind, text.parse::<u64>()) {
        (ColumnKind::Time, Ok(us @ 0..1000)) => format!("{us} us"),
        (ColumnKind::Time, Ok(us @ 1000..1_000_000)) => format!("{:.1} ms", us as f64 / 1e3),
        (ColumnKind::Time, Ok(us)) => format!("{:.1} s", us as f64 / 1e6),
        (ColumnKind::Rate, Ok(_)) => grouped(text),
        _ => text.to_owned(),
    }
}

/// `1,234,567`
fn grouped(digits: &str) -> String {
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
