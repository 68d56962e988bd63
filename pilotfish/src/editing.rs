//! The configuration while administrators change it: the file's text when it was last read, and the text that is in
//! effect instead. A change edits the second text; the result is then loaded, checked and applied like a file at a
//! reload.

mod file;
mod guard;

use std::sync::Arc;

use admin::{Difference, EditOutcome, EditRequest, EventKind, Events, Refused, View, When, Wish};
use config::{Applies, Change, Config, Draft, Edit, Fault, Loaded, SourceLocation, diff};
use tokio::time::{Duration, timeout};

use crate::arguments::ServeArguments;
use crate::reloading::Reloading;
use crate::rules;

/// How long an administrator's request waits until backends' names are resolved.
const TIMEOUT_SETTLED: Duration = Duration::from_secs(5);

/// See the module.
pub struct Editing<'a> {
    arguments: Option<&'a ServeArguments>,
    events: Arc<Events>,
    /// The file as it was last read or written; without a file, the settings given at the start.
    saved: Version,
    /// The configuration in effect; changes that need a restart are in it, too.
    current: Version,
}

/// A text and the configuration that it means.
#[derive(Clone)]
struct Version {
    draft: Draft,
    config: Arc<Config>,
    /// The warnings about it.
    warnings: Vec<String>,
}

type Answer = Result<EditOutcome, Refused>;

impl<'a> Editing<'a> {
    /// Begins with the loaded configuration and its text.
    pub fn new(
        arguments: Option<&'a ServeArguments>,
        (draft, warnings): (Draft, &[Fault]),
        config: Arc<Config>,
        events: &Arc<Events>,
    ) -> Self {
        let current = Version {
            draft,
            config,
            warnings: placeless(warnings),
        };
        Self {
            arguments,
            events: Arc::clone(events),
            saved: current.clone(),
            current,
        }
    }

    /// Reads the file again, on SIGHUP. Changes that were not saved are lost.
    pub fn reload(&mut self, reloading: &Reloading<'_>) {
        let Some(arguments) = self.arguments else {
            return tracing::info!("SIGHUP: there is no file to read again");
        };
        let faults = match arguments.read() {
            Ok((loaded, draft)) => match reloading.apply(&loaded.config) {
                Ok(()) => {
                    for warning in &loaded.warnings {
                        tracing::warn!(%warning, "reload: a setting is allowed but may not be what you want");
                    }
                    for change in diff(&self.saved.config, &self.current.config) {
                        tracing::warn!(
                            kind = "unsaved_change_lost",
                            %change,
                            "reload: the proxy has undone a change that no administrator had saved"
                        );
                    }
                    let source = arguments.source();
                    self.note_file(&source, "is read again", None);
                    for change in diff(&self.current.config, &loaded.config) {
                        tracing::info!(kind = "config_changed", %change, "reload");
                        self.note_change(&change, None);
                    }
                    self.begin_again(draft, loaded);
                    return tracing::info!(
                        kind = "config_reloaded",
                        source,
                        "configuration is reloaded"
                    );
                }
                Err(faults) => faults,
            },
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        };
        let text = format!(
            "is faulty, and the old configuration stays: {}",
            faults.join("; ")
        );
        self.note_file(&arguments.source(), &text, None);
        for fault in &faults {
            tracing::error!(
                kind = "config_faulty",
                fault,
                "reload: the new configuration has a fault; correct it and reload again"
            );
        }
        tracing::error!(
            faults = faults.len(),
            "reload: the new configuration has faults; the proxy keeps the old one"
        );
    }

    /// Handles a request and sends the answer.
    pub fn answer(&mut self, wish: Wish, reloading: &Reloading<'_>) {
        let Wish {
            user,
            request,
            answer,
        } = wish;
        let is_applied = matches!(request, EditRequest::Apply { .. } | EditRequest::Revert);
        let told = match request {
            EditRequest::View(edits) => self.view(&edits),
            EditRequest::Compare(edits) => self.compare(&edits),
            EditRequest::Check(edits) => self.check(&user, &edits, reloading),
            EditRequest::Apply { edits, basis } => match reloading.is_current(&basis) {
                true => self.apply(&user, &edits, reloading),
                false => Err(Refused::Outdated),
            },
            EditRequest::Save => self.save(&user),
            EditRequest::Revert => self.revert(&user, reloading),
            EditRequest::FlushLogs => {
                let opened = reloading.reopen_logs();
                let done = opened.map(|()| EditOutcome::Done(Vec::new()));
                done.map_err(|error| Refused::Because(vec![error]))
            }
        };
        if !is_applied || told.is_err() {
            // The receiver may be gone.
            return drop(answer.send(told));
        }
        let settled = reloading.control.settled();
        tokio::spawn(async move {
            let told = match (timeout(TIMEOUT_SETTLED, settled).await, told) {
                (Err(_), Ok(EditOutcome::Done(mut warnings))) => {
                    let text = "Names of backends are still being looked up; it takes effect then";
                    warnings.push(text.to_owned());
                    Ok(EditOutcome::Done(warnings))
                }
                (_, told) => told,
            };
            drop(answer.send(told));
        });
    }

    fn view(&self, edits: &[Edit]) -> Answer {
        let draft = self.current.draft.with(edits).map_err(refused)?;
        let config = draft.sketch().map_err(refused)?;
        Ok(EditOutcome::View(View {
            topology: Arc::new(control::as_configured(&config)),
            config: Arc::new(config),
        }))
    }

    fn compare(&self, edits: &[Edit]) -> Answer {
        let unsaved = diff(&self.saved.config, &self.current.config).into_iter();
        let mut differences: Vec<_> = unsaved
            .map(|change| Difference {
                when: when(&change),
                change,
            })
            .collect();
        if !edits.is_empty() {
            let holds = self.current.draft.sketch().map_err(refused)?;
            // If the changes do not fit the current configuration any more, COMMIT would also refuse them as outdated.
            let drafted = self.current.draft.with(edits).and_then(|it| it.sketch());
            let drafted = drafted.map_err(|_| Refused::Outdated)?;
            differences.extend(diff(&holds, &drafted).into_iter().map(|change| Difference {
                change,
                when: When::AtCommit,
            }));
        }
        Ok(EditOutcome::Differences(differences))
    }

    /// Checks changes: what they would change, and whether they would be refused. Refusals are the same as at a real
    /// change.
    fn check(&self, user: &str, edits: &[Edit], reloading: &Reloading<'_>) -> Answer {
        let (_, loaded) = self.loaded_with(user, edits)?;
        reloading.check(&loaded.config).map_err(Refused::Because)?;
        let changes = diff(&self.current.config, &loaded.config);
        let late = reloading.late(&loaded.config);
        let warnings = self.current.news(&loaded.warnings, &changes, &late);
        let changes = changes.into_iter().map(|change| Difference {
            when: when(&change),
            change,
        });
        Ok(EditOutcome::Checked(changes.collect(), warnings))
    }

    /// The configuration with these changes, if they are allowed.
    fn loaded_with(&self, user: &str, edits: &[Edit]) -> Result<(Draft, Loaded), Refused> {
        if let Some(arguments) = self.arguments
            && let Some(name) = guard::overridden(arguments, edits)
        {
            let text = format!(
                "{name} was given on the command line, which wins over all that is said here"
            );
            return Err(Refused::Because(vec![text]));
        }
        let draft = self.current.draft.with(edits).map_err(refused)?;
        let loaded = self.load(&draft).map_err(refused)?;
        if let Some(why) = guard::locked_out(user, &loaded.config) {
            return Err(Refused::Because(vec![why]));
        }
        Ok((draft, loaded))
    }

    fn apply(&mut self, user: &str, edits: &[Edit], reloading: &Reloading<'_>) -> Answer {
        let (draft, loaded) = self.loaded_with(user, edits)?;
        reloading.apply(&loaded.config).map_err(Refused::Because)?;
        let changes = diff(&self.current.config, &loaded.config);
        for change in &changes {
            tracing::info!(user, %change, "an administrator has changed the configuration");
            self.note_change(change, Some(user));
        }
        let late = reloading.late(&loaded.config);
        let warnings = self.current.news(&loaded.warnings, &changes, &late);
        self.current = Version::of(draft, loaded);
        Ok(EditOutcome::Done(warnings))
    }

    fn save(&mut self, user: &str) -> Answer {
        let because = |why: String| Refused::Because(vec![why]);
        let Some(path) = self.current.draft.path() else {
            let text = "The proxy was started without a file of its own (--config): there is nothing to save to";
            return Err(because(text.to_owned()));
        };
        let shown = path.display();
        let on_disk = Draft::of_file(path).map_err(|fault| because(fault.to_string()))?;
        if on_disk.text() != self.saved.draft.text() {
            return Err(because(format!(
                "{shown} was changed by somebody else since it was read. REVERT takes what it says, and gives \
                 up what SHOW CHANGES shows"
            )));
        }
        file::replace(path, self.current.draft.text())
            .map_err(|error| because(format!("{shown} cannot be written: {error}")))?;
        tracing::info!(user, file = %shown, "an administrator has saved the configuration");
        self.note_file(&shown.to_string(), "is written", Some(user));
        self.saved = self.current.clone();
        Ok(EditOutcome::Done(Vec::new()))
    }

    fn revert(&mut self, user: &str, reloading: &Reloading<'_>) -> Answer {
        let (loaded, draft) = match self.arguments {
            Some(arguments) => arguments.read().map_err(refused)?,
            None => {
                let draft = self.saved.draft.clone();
                (self.load(&draft).map_err(refused)?, draft)
            }
        };
        reloading.apply(&loaded.config).map_err(Refused::Because)?;
        let changes = diff(&self.current.config, &loaded.config);
        for change in &changes {
            tracing::info!(user, %change, "an administrator has gone back to the file");
            self.note_change(change, Some(user));
        }
        let late = reloading.late(&loaded.config);
        let warnings = self.current.news(&loaded.warnings, &changes, &late);
        self.begin_again(draft, loaded);
        Ok(EditOutcome::Done(warnings))
    }

    fn note_change(&self, change: &Change, user: Option<&str>) {
        let text = change.to_string();
        let text = text.strip_prefix(&format!("{}: ", change.setting));
        let text = text.map_or_else(|| change.to_string(), str::to_owned);
        self.events
            .note(EventKind::Change, &change.setting, text, user);
    }

    fn note_file(&self, file: &str, text: &str, user: Option<&str>) {
        self.events.note(EventKind::File, file, text, user);
    }

    /// Makes this text both the saved and the current one.
    fn begin_again(&mut self, draft: Draft, loaded: Loaded) {
        self.current = Version::of(draft, loaded);
        self.saved = self.current.clone();
    }

    fn load(&self, draft: &Draft) -> Result<Loaded, Vec<Fault>> {
        match self.arguments {
            Some(arguments) => arguments.load_draft(draft),
            None => {
                let loaded = Config::load_text(draft.path(), draft.text(), &[], rules::faults);
                loaded.and_then(rules::checked)
            }
        }
    }
}

impl Version {
    fn of(draft: Draft, loaded: Loaded) -> Self {
        Self {
            draft,
            warnings: placeless(&loaded.warnings),
            config: Arc::new(loaded.config),
        }
    }

    /// Remarks for the administrator who made a change: new warnings, and which of the changes take effect at a restart
    /// only; `late` has all settings that wait for a restart.
    fn news(&self, warnings: &[Fault], changes: &[Change], late: &[Change]) -> Vec<String> {
        let mut news = placeless(warnings);
        news.retain(|warning| !self.warnings.contains(warning));
        let is_late = |it: &&Change| late.iter().any(|late| late.setting == it.setting);
        news.extend(
            changes
                .iter()
                .filter(is_late)
                .map(|change| format!("{change}; SAVE, so that it holds then")),
        );
        news
    }
}

/// When a change that is made while the proxy runs takes effect.
fn when(change: &Change) -> When {
    match change.applies {
        Applies::AtReload => When::Now,
        Applies::AtRestart => When::AtRestart,
    }
}

fn refused(faults: Vec<Fault>) -> Refused {
    Refused::Because(placeless(&faults))
}

/// Faults without their locations, because their text is in no file.
fn placeless(faults: &[Fault]) -> Vec<String> {
    let faults = faults.iter().cloned();
    let place = |fault| Fault {
        location: SourceLocation::COMMAND_LINE,
        ..fault
    };
    faults.map(|fault| place(fault).to_string()).collect()
}
