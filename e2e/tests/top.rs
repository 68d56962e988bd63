//! `pilotfish top` in a pseudo terminal.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use e2e::{Product, Proxy, Server, Settings, free_port, program, wait};

/// A program in a pseudo terminal, and the output that it has written.
struct Screen {
    child: Child,
    shown: Arc<Mutex<Grid>>,
}

impl Screen {
    /// The tool `script` provides the terminal.
    fn start(command: &str) -> Self {
        let sized = format!("stty cols {WIDTH} rows {HEIGHT}; exec {command}");
        let mut child = Command::new("script")
            .args(["-qfec", &sized, "/dev/null"])
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("script is there");
        let mut output = child.stdout.take().unwrap();
        let shown = Arc::new(Mutex::new(Grid::new()));
        let told = Arc::clone(&shown);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            let mut rest = Vec::new();
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                rest.extend_from_slice(&bytes[..length]);
                // A character may arrive in two pieces.
                let valid = match std::str::from_utf8(&rest) {
                    Ok(text) => text.len(),
                    Err(error) => error.valid_up_to(),
                };
                let text: Vec<u8> = rest.drain(..valid).collect();
                let mut grid = told.lock().unwrap();
                String::from_utf8_lossy(&text)
                    .chars()
                    .for_each(|it| grid.draw(it));
            }
        });
        Self { child, shown }
    }

    #[track_caller]
    fn wait_shown(&self, text: &str) {
        let start = Instant::now();
        wait::until(&format!("{text} is shown"), wait::SOON, || {
            let shown = self.shown.lock().unwrap().text();
            let late = start.elapsed() > wait::SOON - Duration::from_secs(1);
            assert!(!late || shown.contains(text), "no {text:?} in\n{shown}");
            shown.contains(text)
        });
    }

    fn press(&mut self, keys: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the program's end. Returns its exit code.
    fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The program has ended already, unless a test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const WIDTH: usize = 160;
const HEIGHT: usize = 40;

/// A terminal that understands the sequences that `top` uses: cursor movements and text.
struct Grid {
    cells: Vec<char>,
    at: usize,
    /// A sequence that is incomplete so far.
    sequence: Option<String>,
}

impl Grid {
    fn new() -> Self {
        Self {
            cells: vec![' '; WIDTH * HEIGHT],
            at: 0,
            sequence: None,
        }
    }

    fn draw(&mut self, character: char) {
        match &mut self.sequence {
            Some(sequence) => {
                sequence.push(character);
                if character.is_ascii_alphabetic() && sequence.len() > 1 {
                    let sequence = self.sequence.take().unwrap_or_default();
                    self.obey(&sequence);
                }
            }
            None if character == '\u{1b}' => self.sequence = Some(String::new()),
            None if character == '\r' => self.at -= self.at % WIDTH,
            None if character == '\n' => self.at += WIDTH,
            None => {
                if let Some(cell) = self.cells.get_mut(self.at) {
                    *cell = character;
                }
                self.at += 1;
            }
        }
    }

    fn obey(&mut self, sequence: &str) {
        if sequence.ends_with('H') {
            let inside = sequence.trim_start_matches('[').trim_end_matches('H');
            let (row, column) = inside.split_once(';').unwrap_or(("1", "1"));
            let number = |text: &str| text.parse::<usize>().unwrap_or(1).saturating_sub(1);
            self.at = number(row) * WIDTH + number(column);
        } else if sequence.ends_with("2J") {
            self.cells.fill(' ');
        }
    }

    fn text(&self) -> String {
        let lines = self.cells.chunks(WIDTH);
        let lines: Vec<String> = lines.map(|line| line.iter().collect()).collect();
        lines.join("\n")
    }
}

fn watched(port: u16) -> Proxy {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4);
    Proxy::start(&settings.set("workers", 2).admin_on(port))
}

fn top(arguments: &str) -> String {
    format!("{} top --interval 200ms {arguments}", program().display())
}

#[test]
fn top_shows_a_running_proxy() {
    let port = free_port();
    let proxy = watched(port);
    let mut client = proxy.connect();
    client.run("SELECT 'seen by top'");
    let mut screen = Screen::start(&top(&format!("-c {}", proxy.config_file().display())));
    screen.wait_shown("1 Backends");
    screen.wait_shown("1 sessions");
    screen.wait_shown("primary");
    // Keys pressed while `top` waits for data are not lost.
    screen.press("2");
    screen.wait_shown("SELECT ?");
    screen.press("3");
    screen.wait_shown("for s▼");
    screen.wait_shown(" app ");
    screen.press("\t");
    screen.wait_shown("backend connections");
    screen.press("5");
    screen.wait_shown("is up");
    // When the proxy stops, `top` shows the failed connection.
    proxy.stop();
    screen.wait_shown("onnection refused");
    screen.press("q");
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn top_needs_a_user_of_the_admin_port_and_names_the_reason_of_a_refusal() {
    let port = free_port();
    let _proxy = watched(port);
    let mut screen = Screen::start(&format!(
        "env LOOK=some {}",
        top(&format!(
            "--address 127.0.0.1:{port} --user look --password env:LOOK"
        ))
    ));
    screen.wait_shown("1 Backends");
    screen.press("q");
    assert_eq!(screen.end(), Some(0));
    for (arguments, told) in [
        (format!("--address 127.0.0.1:{port}"), "--user"),
        (
            format!("--address 127.0.0.1:{port} --user look"),
            "--password",
        ),
        (
            format!("--address 127.0.0.1:{port} --user look --password wrong"),
            "Access denied",
        ),
        (
            "--address 127.0.0.1:x --user a --password b".to_owned(),
            "no address",
        ),
        ("-c /nowhere".to_owned(), "cannot be read"),
    ] {
        let screen = Screen::start(&top(&arguments));
        screen.wait_shown(told);
        assert_eq!(screen.end(), Some(1), "{arguments}");
    }
}
