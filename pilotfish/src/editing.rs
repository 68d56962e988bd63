//! The configuration while administrators change it: what the file said when it was last read, and what holds
//! instead. Both are texts; a change is an edit of the second, which is then loaded, checked and applied as a
//! file is at a reload.

mod file;
mod guard;

use std::sync::Arc;

use admin::{Difference, EventKind, Events, Refused, Told, View, What, When, Wish};
use config::{Applies, Change, Config, Draft, Edit, Fault, Loaded, Place, diff};
use tokio::time::{Duration, timeout};

use crate::arguments::ServeArguments;
use crate::rules;
use crate::serve::Reloading;

/// How long an administrator waits for backends' names to be looked up.
const TIMEOUT_SETTLED: Duration = Duration::from_secs(2);

/// Changes that may wait until they are loaded.
const WAITING_MAX: usize = 10_000;

/// See the module.
pub struct Editing<'a> {
    arguments: Option<&'a ServeArguments>,
    events: Arc<Events>,
    /// The file as it was read or written last; without a file, what was given at the start.
    saved: Version,
    /// What holds, as far as it needs no restart.
    current: Version,
    /// What waits until it is loaded.
    memory: Vec<Edit>,
    /// How often any of these has changed.
    version: u64,
}

/// A text and what it says.
#[derive(Clone)]
struct Version {
    draft: Draft,
    config: Arc<Config>,
    /// What was told of it.
    warnings: Vec<String>,
}

type Answer = Result<Told, Refused>;

impl<'a> Editing<'a> {
    /// Begins with what was loaded, and the text that said so.
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
            memory: Vec::new(),
            version: 0,
        }
    }

    /// Reads the file again, as a SIGHUP wants it: what has not been saved is given up.
    pub fn reload(&mut self, reloading: &Reloading<'_>) {
        let Some(arguments) = self.arguments else {
            return tracing::info!("SIGHUP: there is no file to read again");
        };
        let faults = match arguments.read() {
            Ok((loaded, draft)) => match reloading.apply(&loaded.config) {
                Ok(()) => {
                    for warning in &loaded.warnings {
                        tracing::warn!(%warning, "configuration");
                    }
                    for change in diff(&self.saved.config, &self.current.config) {
                        tracing::warn!(%change, "reload: a change that was not saved is given up");
                    }
                    let source = arguments.source();
                    self.note_file(&source, "is read again", None);
                    for change in diff(&self.current.config, &loaded.config) {
                        tracing::info!(%change, "reload");
                        self.note_change(&change, None);
                    }
                    self.begin_again(draft, loaded);
                    return tracing::info!(source, "configuration is reloaded");
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
            tracing::error!(fault, "reload: the new configuration is faulty");
        }
        tracing::error!(faults = faults.len(), "the old configuration stays");
    }

    /// Grants a wish, or says why not.
    pub fn answer(&mut self, wish: Wish, reloading: &Reloading<'_>) {
        let Wish { user, what, answer } = wish;
        let is_applied = matches!(what, What::Apply { .. } | What::Load(_) | What::Revert);
        let told = match what {
            What::View(edits) => self.view(&edits),
            What::Compare(edits) => self.compare(&edits),
            What::Apply { edits, basis } => match reloading.is_current(&basis) {
                true => self.apply(&user, &edits, reloading),
                false => Err(Refused::Outdated),
            },
            What::Memory => self.memory(),
            What::Remember { edits, version } => match version == self.version {
                true => self.remember(&edits),
                false => Err(Refused::Outdated),
            },
            What::Load(module) => {
                let (edits, others): (Vec<Edit>, Vec<Edit>) =
                    self.memory.iter().cloned().partition(|it| module.has(it));
                let applied = match edits.is_empty() {
                    true => Ok(Told::Done(Vec::new())),
                    false => self.apply(&user, &edits, reloading),
                };
                applied.inspect(|_| self.memory = others)
            }
            What::Discard(module) => {
                self.memory.retain(|it| !module.has(it));
                self.version += 1;
                Ok(Told::Done(Vec::new()))
            }
            What::Save => self.save(&user),
            What::Revert => self.revert(&user, reloading),
        };
        if !is_applied || told.is_err() {
            // Nobody may be waiting any more.
            return drop(answer.send(told));
        }
        let settled = reloading.control.settled();
        tokio::spawn(async move {
            let told = match (timeout(TIMEOUT_SETTLED, settled).await, told) {
                (Err(_), Ok(Told::Done(mut warnings))) => {
                    let text = "Names of backends are still being looked up; it takes effect then";
                    warnings.push(text.to_owned());
                    Ok(Told::Done(warnings))
                }
                (_, told) => told,
            };
            drop(answer.send(told));
        });
    }

    fn view(&self, edits: &[Edit]) -> Answer {
        let draft = self.current.draft.with(edits).map_err(refused)?;
        let config = draft.sketch().map_err(refused)?;
        let topology = Arc::new(control::as_configured(&config));
        Ok(Told::View(View {
            config: Arc::new(config),
            topology,
            version: self.version,
        }))
    }

    /// What waits; where it fits to what holds no more, it is forgotten.
    fn memory(&mut self) -> Answer {
        let view = self.view(&self.memory);
        if let (Err(Refused::Because(why)), false) = (&view, self.memory.is_empty()) {
            tracing::warn!(
                why = why.join("; "),
                "changes that waited for LOAD … TO RUNTIME are forgotten: they fit no more"
            );
            self.memory.clear();
            return self.view(&[]);
        }
        view
    }

    fn remember(&mut self, edits: &[Edit]) -> Answer {
        if self.memory.len() + edits.len() > WAITING_MAX {
            let text = format!("{WAITING_MAX} changes wait already: LOAD … TO RUNTIME");
            return Err(Refused::Because(vec![text]));
        }
        let memory = [self.memory.as_slice(), edits].concat();
        self.view(&memory)?;
        self.memory = memory;
        self.version += 1;
        Ok(Told::Done(Vec::new()))
    }

    fn compare(&self, edits: &[Edit]) -> Answer {
        let unsaved = diff(&self.saved.config, &self.current.config).into_iter();
        let mut differences: Vec<_> = unsaved
            .map(|change| Difference {
                when: match change.applies {
                    Applies::AtReload => When::Now,
                    Applies::AtRestart => When::AtRestart,
                },
                change,
            })
            .collect();
        for (edits, when) in [(edits, When::AtCommit), (&self.memory, When::AtLoad)] {
            if edits.is_empty() {
                continue;
            }
            let draft = self.current.draft.with(edits).map_err(refused)?;
            let before = self.current.draft.sketch().map_err(refused)?;
            let after = draft.sketch().map_err(refused)?;
            let gathered = diff(&before, &after).into_iter();
            differences.extend(gathered.map(|change| Difference { change, when }));
        }
        Ok(Told::Differences(differences))
    }

    fn apply(&mut self, user: &str, edits: &[Edit], reloading: &Reloading<'_>) -> Answer {
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
        reloading.apply(&loaded.config).map_err(Refused::Because)?;
        let changes = diff(&self.current.config, &loaded.config);
        for change in &changes {
            tracing::info!(user, %change, "an administrator has changed the configuration");
            self.note_change(change, Some(user));
        }
        let warnings = self.current.news(&loaded.warnings, &changes);
        self.current = Version::of(draft, loaded);
        self.version += 1;
        Ok(Told::Done(warnings))
    }

    fn save(&mut self, user: &str) -> Answer {
        let because = |why: String| Refused::Because(vec![why]);
        if !self.memory.is_empty() {
            let text = "What waits does not hold yet, and is not saved: LOAD MYSQL SERVERS (or USERS, QUERY RULES, VARIABLES) \
                        TO RUNTIME first, or SAVE MYSQL … TO MEMORY to give it up";
            return Err(because(text.to_owned()));
        }
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
        Ok(Told::Done(Vec::new()))
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
        let warnings = self.current.news(&loaded.warnings, &changes);
        self.begin_again(draft, loaded);
        Ok(Told::Done(warnings))
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

    fn begin_again(&mut self, draft: Draft, loaded: Loaded) {
        self.current = Version::of(draft, loaded);
        self.memory.clear();
        self.version += 1;
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

    /// What is worth telling whoever has changed this one: warnings that are new, and what comes later.
    fn news(&self, warnings: &[Fault], changes: &[Change]) -> Vec<String> {
        let mut news = placeless(warnings);
        news.retain(|warning| !self.warnings.contains(warning));
        let late = changes.iter();
        let late = late.filter(|it| it.applies == Applies::AtRestart);
        news.extend(late.map(|change| format!("{change}; SAVE, so that it holds then")));
        news
    }
}

fn refused(faults: Vec<Fault>) -> Refused {
    Refused::Because(placeless(&faults))
}

/// Faults without their places: their text stands in no file.
fn placeless(faults: &[Fault]) -> Vec<String> {
    let faults = faults.iter().cloned();
    let place = |fault| Fault {
        place: Place::COMMAND_LINE,
        ..fault
    };
    faults.map(|fault| place(fault).to_string()).collect()
}
