//! `pilotfish top`: live figures of a running proxy in a terminal. All figures come over the admin
//! port, so it also works from another machine, and shows only what any MySQL client could ask for.

mod draw;
mod figures;
mod screen;
mod source;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::admin_client::AdminAddress;
use crate::arguments::TopArguments;
use figures::Figures;
use screen::SCREENS;
use source::Source;

/// Shows the figures until `q`; the exit code is 1 if the first sample fails.
pub fn top(arguments: &TopArguments) -> ExitCode {
    let shown = AdminAddress::of(&arguments.admin).and_then(|place| {
        let mut source = Source::new(&place)?;
        // An error at the start is easier to read on an ordinary screen.
        let first = source.sample(0)?;
        let mut figures = Figures::new();
        figures.take(first);
        let mut terminal = ratatui::try_init()
            .map_err(|error| format!("this is no terminal that can be drawn on: {error}"))?;
        let ended = live(&mut terminal, &mut source, &mut figures, arguments);
        ratatui::restore();
        ended.map_err(|error| format!("the terminal has failed: {error}"))
    });
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            let _ = writeln!(std::io::stderr(), "pilotfish: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn live(
    terminal: &mut DefaultTerminal,
    source: &mut Source,
    figures: &mut Figures,
    arguments: &TopArguments,
) -> std::io::Result<()> {
    let title = "Pilotfish";
    let mut next = Instant::now() + arguments.interval;
    loop {
        terminal.draw(|frame| draw::draw(frame, figures, title))?;
        let screen = figures.screen;
        if event::poll(next.saturating_duration_since(Instant::now()))? {
            if let Event::Key(key) = event::read()?
                && key.kind != KeyEventKind::Release
                && pressed(figures, key.code, key.modifiers) == Then::Quit
            {
                return Ok(());
            }
            if figures.screen == screen {
                continue;
            }
        } else {
            next = Instant::now() + arguments.interval;
            if figures.is_paused {
                continue;
            }
        }
        match source.sample(figures.screen) {
            Ok(look) => figures.take(look),
            Err(fault) => figures.fault = Some(fault),
        }
    }
}

/// What a key does.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    GoOn,
    Quit,
}

fn pressed(figures: &mut Figures, code: KeyCode, modifiers: KeyModifiers) -> Then {
    if code == KeyCode::Char('c') && modifiers.contains(KeyModifiers::CONTROL) {
        return Then::Quit;
    }
    if figures.is_typing {
        match code {
            KeyCode::Char(letter) => figures.filter.push(letter),
            KeyCode::Backspace => drop(figures.filter.pop()),
            KeyCode::Enter => figures.is_typing = false,
            KeyCode::Esc => {
                figures.is_typing = false;
                figures.filter.clear();
            }
            _ => {}
        }
        figures.arrange();
        return Then::GoOn;
    }
    match code {
        KeyCode::Char('q') => return Then::Quit,
        KeyCode::Char(digit @ '1'..='9') => {
            figures.show_screen(usize::from(digit as u8 - b'1'));
        }
        KeyCode::Tab => figures.show_screen((figures.screen + 1) % SCREENS.len()),
        KeyCode::BackTab => {
            figures.show_screen((figures.screen + SCREENS.len() - 1) % SCREENS.len());
        }
        KeyCode::Right | KeyCode::Char('s') => figures.sort_by(1),
        KeyCode::Left => figures.sort_by(-1),
        KeyCode::Char('r') => figures.reverse(),
        KeyCode::Up | KeyCode::Char('k') => figures.mark(-1),
        KeyCode::Down | KeyCode::Char('j') => figures.mark(1),
        KeyCode::PageUp => figures.mark(-20),
        KeyCode::PageDown => figures.mark(20),
        KeyCode::Home => figures.mark(isize::MIN),
        KeyCode::End => figures.mark(isize::MAX),
        KeyCode::Char('p' | ' ') => figures.is_paused = !figures.is_paused,
        KeyCode::Char('/') => figures.is_typing = true,
        KeyCode::Esc => {
            figures.filter.clear();
            figures.arrange();
        }
        _ => {}
    }
    Then::GoOn
}

#[cfg(test)]
mod tests;
