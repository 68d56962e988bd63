//! The program of `schema_history.hook`: one process for each change.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use crate::store::UndeliveredChange;

/// How many bytes of the program's standard error go into the log.
const ERRORS_BYTES_MAX: u64 = 1000;

/// Runs the program with the change on standard input. It must exit with 0 within the limit; after the limit it is
/// killed.
pub(super) async fn run(
    hook: &[String],
    limit: Duration,
    change: &UndeliveredChange,
) -> Result<(), String> {
    let [program, arguments @ ..] = hook else {
        return Ok(());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program may exit without reading its input; only the exit code counts.
            let _ = stdin
                .write_all(format!("{}\n", change.json).as_bytes())
                .await;
        }
    };
    let read = async {
        let mut errors = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = (&mut stderr)
                .take(ERRORS_BYTES_MAX)
                .read_to_end(&mut errors)
                .await;
            let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
        }
        errors
    };
    let whole = async { tokio::join!(write, read, child.wait()) };
    let Ok(((), errors, status)) = timeout(limit, whole).await else {
        return Err(format!(
            "{program} has not ended within {limit:?} (schema_history.timeout_hook)"
        ));
    };
    let status = status.map_err(|error| format!("{program}: {error}"))?;
    let errors = String::from_utf8_lossy(&errors);
    match status.success() {
        true => Ok(()),
        false => Err(format!(
            "{program} has ended with {status}: {}",
            errors.trim()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> UndeliveredChange {
        UndeliveredChange {
            id: 1,
            json: "{\"id\":1}".to_owned(),
        }
    }

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    const LIMIT: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_program_gets_the_change_and_its_exit_code_counts() {
        let reads = shell("read line; test \"$line\" = '{\"id\":1}'");
        assert_eq!(run(&reads, LIMIT, &change()).await, Ok(()));
        let fails = shell("echo no >&2; yes | head -c 1000000 >&2; exit 3");
        let fault = run(&fails, LIMIT, &change()).await.unwrap_err();
        assert!(
            fault.contains("exit status: 3") && fault.contains("no"),
            "{fault}"
        );
        assert!(fault.len() < 2000);
        let missing = ["/nowhere/hook".to_owned()];
        let fault = run(&missing, LIMIT, &change()).await.unwrap_err();
        assert!(fault.contains("/nowhere/hook cannot be started"), "{fault}");
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_killed() {
        let sleeps = shell("exec sleep 1000");
        let fault = run(&sleeps, Duration::from_millis(50), &change())
            .await
            .unwrap_err();
        assert!(fault.contains("timeout_hook"), "{fault}");
    }
}
