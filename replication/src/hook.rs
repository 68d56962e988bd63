//! The program that is told of each change of a schema (`schema_history.hook`): in order, one at a time, at least once.

use std::cell::RefCell;
use std::process::Stdio;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use crate::store::{Store, Untold};

/// The first wait after a failure. It doubles up to the longest.
const WAIT_FIRST: Duration = Duration::from_secs(1);
/// The longest wait after a failure.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How much of the program's error output goes into the log.
const ERRORS_BYTES_MAX: u64 = 1000;

/// Tells the program of changes until the streams end.
pub async fn tell_changes(
    mut configs: watch::Receiver<Arc<Config>>,
    store: Rc<RefCell<Store>>,
    written: Rc<Notify>,
) {
    let mut wait = WAIT_FIRST;
    loop {
        let config = Arc::clone(&configs.borrow_and_update());
        let (hook, limit) = (
            &config.schema_history.hook,
            config.schema_history.timeout_hook,
        );
        let told = match due(&store, hook) {
            Ok(Some(change)) => run(hook, limit, &change).await.and_then(|()| {
                store
                    .borrow()
                    .mark_told(change.id)
                    .map_err(|it| it.to_string())
            }),
            Ok(None) => {
                tokio::select! {
                    () = written.notified() => {}
                    changed = configs.changed() => if changed.is_err() { return },
                }
                continue;
            }
            Err(error) => Err(error),
        };
        match told {
            Ok(()) => wait = WAIT_FIRST,
            Err(error) => {
                tracing::warn!(
                    kind = "schema_hook_failed",
                    error,
                    ?wait,
                    "schema_history.hook has failed for a change; the proxy runs it again after the wait"
                );
                tokio::select! {
                    () = sleep(wait) => wait = (wait * 2).min(WAIT_MAX),
                    changed = configs.changed() => if changed.is_err() { return },
                }
            }
        }
    }
}

/// The change to tell of next.
fn due(store: &RefCell<Store>, hook: &[String]) -> Result<Option<Untold>, String> {
    let store = store.borrow();
    let due = match hook.is_empty() {
        true => store.forget_told().map(|()| None),
        false => store.next_untold(),
    };
    due.map_err(|error| error.to_string())
}

/// Runs the program with the change on its standard input. It must end with 0 within the limit, or it is killed.
async fn run(hook: &[String], limit: Duration, change: &Untold) -> Result<(), String> {
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
            // A program may end without reading; its exit code counts.
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

    fn change() -> Untold {
        Untold {
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
