//! Kafka's own clients (`kafka/KafkaTool.java`): they read the records that other programs would read.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::process::Folder;

/// A process that executes commands until it is dropped.
#[derive(Debug)]
pub struct KafkaTool {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl KafkaTool {
    pub(super) fn start(jars: &Path, folder: &Folder, address: &str) -> Self {
        let source = folder.write("KafkaTool.java", include_str!("../../kafka/KafkaTool.java"));
        let log = std::fs::File::create(folder.path().join("tool")).expect("the folder is there");
        let mut command = Command::new("java");
        command
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"])
            .arg("-cp")
            .arg(jars)
            .arg(source)
            .arg(address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut process = command.spawn().expect("Java is there");
        let input = process.stdin.take().expect("the input is a pipe");
        let output = process.stdout.take().expect("the output is a pipe");
        Self {
            process,
            input,
            output: BufReader::new(output),
        }
    }

    /// All records of a topic's first partition: their keys and their values.
    pub fn read(&mut self, topic: &str) -> Vec<(String, String)> {
        let lines = self.run(&format!("read {topic}"));
        let records = lines.iter().map(|line| {
            let (key, value) = line.split_once('\t').expect("a record has a tab");
            (key.to_owned(), value.to_owned())
        });
        records.collect()
    }

    /// Lets a user log in with `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    pub fn add_user(&mut self, mechanism: &str, user: &str, password: &str) {
        self.run(&format!("user {mechanism} {user} {password}"));
    }

    /// Limits a client to this number of bytes a second.
    pub fn set_quota(&mut self, client: &str, bytes: u32) {
        self.run(&format!("quota {client} {bytes}"));
    }

    fn run(&mut self, command: &str) -> Vec<String> {
        writeln!(self.input, "{command}").expect("Kafka's clients run");
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).expect("a line is a text");
            assert!(length > 0, "Kafka's clients have ended at `{command}`");
            let line = line.trim_end_matches('\n');
            if line == "." {
                return lines;
            }
            lines.push(line.to_owned());
        }
    }
}

impl Drop for KafkaTool {
    fn drop(&mut self) {
        // The process ends by itself at the end of its input.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
