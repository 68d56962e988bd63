#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::figures::Sample;
use super::*;

fn sample(screen: usize, at: Instant, statements: u64, rows: &[&[&str]]) -> Sample {
    let row = |row: &&[&str]| row.iter().map(|it| (*it).to_owned()).collect();
    Sample {
        at,
        totals: [statements, 7, 2],
        screen,
        rows: rows.iter().map(row).collect(),
    }
}

/// Figures from two readings of two backends, with one second between them.
fn figures() -> Figures {
    let mut figures = Figures::new();
    let start = Instant::now();
    let one = [
        "db1", "up", "primary", "main", "5", "1", "", "1000", "90", "800", "1200000", "",
    ];
    let two = [
        "db2", "down", "replica", "main", "0", "0", "3", "500", "5", "50", "5000", "gone",
    ];
    figures.take(sample(0, start, 1500, &[&one, &two]));
    let mut later = [one, two];
    (later[0][7], later[1][7]) = ("1010", "2500");
    figures.take(sample(
        0,
        start + Duration::from_secs(1),
        3510,
        &[&later[0], &later[1]],
    ));
    figures
}

fn drawn(figures: &Figures) -> Vec<String> {
    drawn_on(140, figures)
}

/// The lines of a terminal that is `width` columns wide.
fn drawn_on(width: u16, figures: &Figures) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, 12)).unwrap();
    terminal
        .draw(|frame| draw::draw(frame, figures, "Pilotfish"))
        .unwrap();
    let buffer = terminal.backend().buffer();
    let lines = buffer.content.chunks(width.into());
    lines
        .map(|line| line.iter().map(ratatui::buffer::Cell::symbol).collect())
        .collect()
}

fn press(figures: &mut Figures, code: KeyCode) -> Then {
    pressed(figures, code, KeyModifiers::NONE)
}

#[test]
fn growth_is_shown_by_the_second_and_the_largest_comes_first() {
    let lines = drawn(&figures());
    assert!(
        lines[0].contains("2,010 statements/s   7 sessions, 2 running"),
        "{lines:#?}"
    );
    assert!(lines[5].contains("1 Backends") && lines[5].contains("2 Digests"));
    assert!(lines[6].contains("stmt/s▼"), "{lines:#?}");
    assert!(
        lines[7].starts_with("db2") && lines[7].contains(" 2,000 "),
        "{lines:#?}"
    );
    assert!(
        lines[7].contains("5.0 ms") && lines[7].contains("gone"),
        "{lines:#?}"
    );
    assert!(
        lines[8].starts_with("db1") && lines[8].contains(" 10 "),
        "{lines:#?}"
    );
    assert!(
        lines[8].contains("90 us") && lines[8].contains("1.2 s"),
        "{lines:#?}"
    );
}

#[test]
fn keys_sort_filter_and_turn() {
    let mut figures = figures();
    press(&mut figures, KeyCode::Char('r'));
    assert!(drawn(&figures)[7].starts_with("db1"));
    for _ in 0..5 {
        press(&mut figures, KeyCode::Right);
    }
    assert_eq!(figures.sort[0], (0, false));
    assert!(drawn(&figures)[7].starts_with("db1"));
    for code in [
        KeyCode::Char('/'),
        KeyCode::Char('D'),
        KeyCode::Char('o'),
        KeyCode::Char('w'),
    ] {
        press(&mut figures, code);
    }
    assert_eq!(figures.rows.len(), 1);
    assert!(drawn(&figures)[11].contains("rows with: Dow"));
    press(&mut figures, KeyCode::Esc);
    press(&mut figures, KeyCode::Down);
    press(&mut figures, KeyCode::Down);
    assert_eq!((figures.rows.len(), figures.marked), (2, 1));
    press(&mut figures, KeyCode::Char('3'));
    assert_eq!(figures.screen().name, "Sessions");
    // Rows of another screen are not shown under this screen's titles.
    assert!(figures.rows.is_empty());
    press(&mut figures, KeyCode::Char('9'));
    press(&mut figures, KeyCode::BackTab);
    assert_eq!(figures.screen().name, "Digests");
    press(&mut figures, KeyCode::Left);
    press(&mut figures, KeyCode::Left);
    // The column without a title cannot be the sort column.
    assert_ne!(figures.sort[1].0, 0);
    assert_eq!(press(&mut figures, KeyCode::Char('q')), Then::Quit);
    let interrupt = pressed(&mut figures, KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(interrupt, Then::Quit);
}

#[test]
fn errors_are_shown_below_and_small_terminals_suffice() {
    let mut figures = figures();
    figures.fault = Some("no answer".to_owned());
    assert!(drawn(&figures)[11].contains("no answer"));
    for (width, height) in [(1, 1), (20, 5), (300, 100)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal
            .draw(|frame| draw::draw(frame, &figures, "Pilotfish"))
            .unwrap();
    }
}

#[test]
fn where_there_is_no_room_columns_are_left_out_and_no_number_is_cut() {
    let lines = drawn_on(80, &figures());
    let (head, row) = (&lines[6], &lines[7]);
    assert!(head.starts_with("backend "), "{head}");
    assert!(head.contains("stmt/s▼") && head.contains(" p99"), "{head}");
    assert!(!head.contains("cluster"), "{head}");
    assert!(row.contains("2,000") && row.contains("5.0 ms"), "{row}");
}

#[test]
fn columns_that_may_be_left_out_are_there_and_the_others_fit_a_usual_terminal() {
    for screen in SCREENS {
        let stay = |title: &str| !screen.spare.contains(&title);
        for title in screen.spare {
            assert!(
                screen.columns.iter().any(|it| it.title == *title),
                "{title}"
            );
        }
        let left = screen.columns.iter().filter(|it| stay(it.title));
        let cells = left.map(|it| match it.width {
            ratatui::layout::Constraint::Length(cells)
            | ratatui::layout::Constraint::Min(cells) => cells + 1,
            _ => 0,
        });
        assert!(cells.sum::<u16>() <= 80, "{}", screen.name);
    }
}

#[test]
fn every_screen_has_a_title_for_each_column_that_it_asks_for() {
    for screen in SCREENS {
        assert!(screen.sort < screen.columns.len(), "{}", screen.name);
        assert!(screen.sql.starts_with("SELECT "), "{}", screen.name);
    }
}
