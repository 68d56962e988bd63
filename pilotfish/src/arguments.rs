//! The command line: the command, and the settings that options give. Every setting of the registry is an option, and
//! so is every option of MySQL Proxy; the crate `config` reads and checks their values, as it does those of the file.

mod admin;
mod ask;
mod binlog;
mod check;
mod console;
mod import;
mod init;
mod lua;
mod schema;
mod shell;
mod top;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, Subcommand};
use config::manual::{self, LIST_OPTIONS};
use config::mysql_proxy::{self, Legacy, Replicant, Translation};
use config::{
    Config, Draft, Fault, Loaded, Override, SECTIONS, Setting, SourceLocation, old_option, renamed,
    setting, settings,
};

use crate::rules;
use sandbox::SandboxArguments;

pub use admin::AdminArguments;
pub use ask::{AskerArguments, ExplainArguments, HealthArguments, PlanArguments, ProbeArguments};
pub use binlog::BinlogArguments;
pub use check::check;
pub use console::{BackendArguments, Console};
pub use import::ImportArguments;
pub use init::InitArguments;
pub use lua::LuaArguments;
pub use schema::{SchemaArguments, SchemaCommand, SchemaDiffArguments, SchemaExportArguments};
pub use shell::{CompletionsArguments, ManArguments};
pub use top::TopArguments;

/// The command that the program runs.
#[derive(Debug)]
pub enum Command {
    /// Run the proxy.
    Serve(ServeArguments),
    /// Check the configuration only.
    Check(ServeArguments),
    /// Run the proxy in front of servers that it starts itself.
    Sandbox(SandboxArguments),
    /// Explain where a statement would go.
    Explain(ExplainArguments),
    /// Show what a reload would change.
    Plan(PlanArguments),
    /// Show the state of the backends.
    Probe(ProbeArguments),
    /// Check whether a proxy on this machine answers.
    Health(HealthArguments),
    /// Show the state of a running proxy, or change it.
    Console(Console),
    /// Print completions for a shell.
    Completions(CompletionsArguments),
    /// Write pages for man(1).
    Man(ManArguments),
    /// Show live figures of a running proxy.
    Top(TopArguments),
    /// Examine a server and write a first configuration.
    Init(InitArguments),
    /// Take over the configuration of another proxy.
    Import(ImportArguments),
    /// Print binary log files.
    Binlog(BinlogArguments),
    /// Show former states of schemas.
    Schema(SchemaArguments),
    /// Run or check Lua scripts.
    Lua(LuaArguments),
}

/// The sources of the proxy's settings.
#[derive(Debug)]
pub struct ServeArguments {
    /// Pilotfish's configuration file.
    pub config: Option<PathBuf>,
    /// MySQL Proxy's configuration file.
    pub defaults_file: Option<PathBuf>,
    /// The settings among the options, with their values.
    options: Vec<ParsedOption>,
}

/// An option of the command line, with its place among the arguments.
#[derive(Clone)]
struct ParsedOption {
    index: usize,
    option: SettingOption,
    words: Vec<String>,
}

/// The values are left out, because a value may be a password.
impl fmt::Debug for ParsedOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{} …", self.option.name())
    }
}

/// An option that the command line can have.
#[derive(Clone, Copy)]
enum SettingOption {
    /// A setting or a list of backends, under its present name.
    Ours(&'static str),
    /// A setting under the name it had in the last version, with its present name.
    Old(&'static str, &'static str),
    /// An option of MySQL Proxy.
    Theirs(&'static Legacy),
}

impl Command {
    /// Reads this process's arguments. Prints and ends the process on `--help`, `--version` and
    /// mistakes.
    pub fn parse() -> Self {
        Self::parse_from(std::env::args_os()).unwrap_or_else(|told| told.exit())
    }

    /// Reads arguments, the program's name first.
    ///
    /// # Errors
    /// What to print (help and version, too), and the exit code.
    fn parse_from(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let matches = command_line().try_get_matches_from(arguments)?;
        match matches.subcommand() {
            Some(("sandbox", of)) => {
                return Ok(Self::Sandbox(FromArgMatches::from_arg_matches(of)?));
            }
            Some(("explain", of)) => {
                return Ok(Self::Explain(FromArgMatches::from_arg_matches(of)?));
            }
            Some(("probe", of)) => {
                return Ok(Self::Probe(FromArgMatches::from_arg_matches(of)?));
            }
            Some(("health", of)) => {
                return Ok(Self::Health(FromArgMatches::from_arg_matches(of)?));
            }
            Some(("completions", of)) => {
                return Ok(Self::Completions(FromArgMatches::from_arg_matches(of)?));
            }
            Some(("man", of)) => return Ok(Self::Man(FromArgMatches::from_arg_matches(of)?)),
            Some((name, _)) if Console::has_subcommand(name) => {
                return Ok(Self::Console(FromArgMatches::from_arg_matches(&matches)?));
            }
            Some(("binlog", of)) => {
                return Ok(Self::Binlog(FromArgMatches::from_arg_matches(of)?));
            }
            Some(("init", of)) => return Ok(Self::Init(FromArgMatches::from_arg_matches(of)?)),
            Some(("import", of)) => {
                return Ok(Self::Import(FromArgMatches::from_arg_matches(of)?));
            }
            Some(("schema", of)) => {
                return Ok(Self::Schema(FromArgMatches::from_arg_matches(of)?));
            }
            Some(("top", of)) => return Ok(Self::Top(FromArgMatches::from_arg_matches(of)?)),
            Some(("lua", of)) => return Ok(Self::Lua(FromArgMatches::from_arg_matches(of)?)),
            Some(("plan", of)) => return Ok(Self::Plan(FromArgMatches::from_arg_matches(of)?)),
            _ => {}
        }
        let arguments = ServeArguments {
            config: matches.get_one::<PathBuf>("config").cloned(),
            defaults_file: matches.get_one::<PathBuf>("defaults-file").cloned(),
            options: parsed_options(&matches),
        };
        if matches.get_flag("check") {
            Ok(Self::Check(arguments))
        } else {
            Ok(Self::Serve(arguments))
        }
    }
}

impl ServeArguments {
    /// Reads the files and the options, at start and at every reload.
    ///
    /// # Errors
    /// Every fault there is.
    pub fn load(&self) -> Result<Loaded, Vec<Fault>> {
        self.read().map(|(loaded, _)| loaded)
    }

    /// As [`Self::load`]; also returns the text of the configuration file. Without a file, the text has all settings
    /// that were given.
    ///
    /// # Errors
    /// Every fault there is.
    pub fn read(&self) -> Result<(Loaded, Draft), Vec<Fault>> {
        if let Some(path) = &self.config
            && let Ok(draft) = Draft::of_file(path)
        {
            return Ok((self.load_draft(&draft)?, draft));
        }
        let loaded = self.load_with(|overrides| {
            // If the file cannot be read, that is a fault like others.
            Config::load_and_ask(self.config.as_deref(), overrides, rules::faults)
        })?;
        let draft = Draft::of_config(&loaded.config);
        Ok((loaded, draft))
    }

    /// Loads a text that may become the configuration file, or that has all settings if there is no file.
    ///
    /// # Errors
    /// Every fault there is.
    pub fn load_draft(&self, draft: &Draft) -> Result<Loaded, Vec<Fault>> {
        let Some(path) = draft.path() else {
            let loaded = Config::load_text(None, draft.text(), &[], rules::faults);
            return loaded.and_then(rules::checked);
        };
        self.load_with(|overrides| {
            Config::load_text(Some(path), draft.text(), overrides, rules::faults)
        })
    }

    /// Settings on the command line that override the file's, each with its option.
    pub fn setting_overrides(&self) -> Vec<(&'static str, String)> {
        if self.config.is_none() {
            return Vec::new();
        }
        let overrides = self.translate_options().overrides.into_iter();
        overrides.map(|it| (it.setting, it.name)).collect()
    }

    fn load_with(
        &self,
        load: impl FnOnce(&[Override]) -> Result<Loaded, Vec<Fault>>,
    ) -> Result<Loaded, Vec<Fault>> {
        let file = self.defaults_file.as_deref();
        let mut options = file
            .map(mysql_proxy::read_defaults_file)
            .unwrap_or_default();
        options = options.then(self.translate_options());
        options.resolve_paths();
        options.follow_source();
        let loaded = load(&options.overrides).and_then(rules::checked);
        if options.faults.is_empty() {
            return loaded.map(|loaded| Loaded {
                warnings: [options.warnings, loaded.warnings].concat(),
                ..loaded
            });
        }
        Err([options.faults, loaded.err().unwrap_or_default()].concat())
    }

    /// The source of the settings, for people: the file's name, or "the command line".
    pub fn source(&self) -> String {
        let file = self.config.as_ref().or(self.defaults_file.as_ref());
        file.map_or_else(
            || "the command line".to_owned(),
            |file| file.display().to_string(),
        )
    }

    /// MySQL Proxy's replication client, if the options ask for it.
    pub fn replicant(&self) -> Option<Replicant> {
        let file = self.defaults_file.as_deref();
        let options = file.map(mysql_proxy::read_defaults_file);
        let mut options = options.unwrap_or_default().then(self.translate_options());
        options.resolve_paths();
        let replicant = options.replicant;
        replicant.is_asked_for().then_some(replicant)
    }

    fn translate_options(&self) -> Translation {
        let mut translation = Translation::default();
        for ParsedOption { option, words, .. } in self.options.iter().cloned() {
            let name = format!("--{}", option.name());
            match option {
                SettingOption::Theirs(legacy) => {
                    translation.add(legacy, name, SourceLocation::COMMAND_LINE, words)
                }
                SettingOption::Ours(setting) => translation.overrides.push(Override {
                    setting,
                    name,
                    location: SourceLocation::COMMAND_LINE,
                    words,
                }),
                SettingOption::Old(_, setting) => {
                    let new = format!("--{}", SettingOption::Ours(setting).name());
                    translation.warnings.push(old_option(&name, &new));
                    translation.overrides.push(Override {
                        setting,
                        name,
                        location: SourceLocation::COMMAND_LINE,
                        words,
                    });
                }
            }
        }
        translation.overrides = joined(translation.overrides);
        translation
    }
}

/// Joins the values of several options for one setting: `--backend a -b b` is two backends.
fn joined(overrides: Vec<Override>) -> Vec<Override> {
    let mut joined: Vec<Override> = Vec::new();
    for given in overrides {
        match joined
            .iter_mut()
            .find(|earlier| earlier.setting == given.setting)
        {
            Some(earlier) => {
                earlier.words.extend(given.words);
                earlier.name = given.name;
            }
            None => joined.push(given),
        }
    }
    joined
}

impl SettingOption {
    /// Every option that gives a setting. If MySQL Proxy's option has the name of a setting, it counts as the
    /// setting's.
    fn all() -> impl Iterator<Item = Self> {
        let ours = LIST_OPTIONS.iter().map(|list| list.list);
        let ours = ours
            .chain(settings().map(|setting| setting.name))
            .map(Self::Ours);
        let our_names: HashSet<String> = settings().map(Setting::option).collect();
        let theirs = mysql_proxy::OPTIONS
            .iter()
            .filter(move |legacy| !our_names.contains(legacy.name));
        let of_settings = |(_, new): &(&str, &str)| setting(new).is_some();
        let old = renamed().filter(of_settings);
        let old = old.map(|(old, new)| Self::Old(old, new));
        ours.chain(old).chain(theirs.map(Self::Theirs))
    }

    /// Its long name without dashes; clap uses the same name as id.
    fn name(self) -> String {
        match self {
            Self::Ours(setting) | Self::Old(setting, _) => setting.replace(['.', '_'], "-"),
            Self::Theirs(legacy) => legacy.name.to_owned(),
        }
    }

    fn arg(self) -> Arg {
        let arg = Arg::new(self.name()).long(self.name());
        match self {
            Self::Theirs(Legacy {
                takes_value: false, ..
            }) => arg.action(ArgAction::SetTrue),
            Self::Theirs(Legacy {
                short: Some(letter),
                ..
            }) => arg.action(ArgAction::Append).short(*letter),
            _ => arg.action(ArgAction::Append),
        }
    }

    /// The values given for it; `None` if it was not given.
    fn given(self, matches: &ArgMatches) -> Option<ParsedOption> {
        let name = self.name();
        let on_command_line = clap::parser::ValueSource::CommandLine;
        if matches.value_source(&name) != Some(on_command_line) {
            return None;
        }
        let words = match self {
            Self::Theirs(Legacy {
                takes_value: false, ..
            }) => Vec::new(),
            _ => matches
                .get_many::<String>(&name)
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
        };
        let index = matches
            .indices_of(&name)
            .and_then(|indices| indices.max())
            .unwrap_or(0);
        Some(ParsedOption {
            index,
            option: self,
            words,
        })
    }
}

/// The given options in order, so that the last of two options for one setting wins.
fn parsed_options(matches: &ArgMatches) -> Vec<ParsedOption> {
    let mut given: Vec<_> = SettingOption::all()
        .filter_map(|known| known.given(matches))
        .collect();
    given.sort_by_key(|given| given.index);
    given
}

/// The definition of the whole command line.
pub fn command_line() -> clap::Command {
    let file = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .value_parser(ValueParser::path_buf())
            .action(ArgAction::Set)
    };
    let help = Arg::new("help")
        .long("help")
        .aliases(["help-all", "help-proxy"]);
    let short_help = Arg::new("short-help").short('h').short_alias('?');
    let below = |name: &'static str| {
        let help = Arg::new("help").long("help").short('h').help("Print this");
        clap::Command::new(name)
            .disable_help_flag(true)
            .arg(help.action(ArgAction::Help))
    };
    let command = clap::Command::new("pilotfish")
        .version(env!("CARGO_PKG_VERSION"))
        .help_template("{before-help}")
        .before_help(short_help_text())
        .before_long_help(help_text())
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .args_conflicts_with_subcommands(true)
        .args([
            help.action(ArgAction::HelpLong),
            short_help.action(ArgAction::HelpShort),
        ])
        .args([
            file("config")
                .short('c')
                .value_name("FILE")
                .help("Settings, in TOML; options win over the file"),
            file("defaults-file")
                .conflicts_with("config")
                .value_name("FILE")
                .help("Settings of MySQL Proxy, group [mysql-proxy]"),
        ])
        .arg(
            Arg::new("check")
                .long("check")
                .help("Print every fault of the settings, and end")
                .action(ArgAction::SetTrue),
        )
        .args(SettingOption::all().map(SettingOption::arg))
        .subcommand(SandboxArguments::augment_args(below("sandbox")))
        .subcommand(ExplainArguments::augment_args(below("explain")))
        .subcommand(PlanArguments::augment_args(below("plan")))
        .subcommand(ProbeArguments::augment_args(below("probe")))
        .subcommand(HealthArguments::augment_args(below("health")))
        .subcommand(BinlogArguments::augment_args(below("binlog")))
        .subcommand(SchemaArguments::augment_args(below("schema")))
        .subcommand(TopArguments::augment_args(below("top")))
        .subcommand(LuaArguments::augment_args(below("lua")))
        .subcommand(InitArguments::augment_args(below("init")))
        .subcommand(ImportArguments::augment_args(below("import")))
        .subcommand(CompletionsArguments::augment_args(below("completions")))
        .subcommand(ManArguments::augment_args(below("man")));
    with_console(command)
}

/// Adds the commands for a running proxy. clap's help flag is disabled above them, so each gets a help flag of its own.
fn with_console(command: clap::Command) -> clap::Command {
    let own = Console::augment_subcommands(clap::Command::new("pilotfish"));
    let help = || Arg::new("help").long("help").short('h').help("Print this");
    let commands = own.get_subcommands().map(|it| {
        let it = it.clone().disable_help_flag(true);
        it.arg(help().action(ArgAction::Help))
    });
    command.subcommands(commands)
}

const TITLE: &str = "\
Pilotfish, a proxy for MySQL and MariaDB

pilotfish --backend HOST:PORT            proxies port 4040 to that server
pilotfish --config FILE [--check]        takes the settings from a file, or checks it
pilotfish init [HOST:PORT]               looks at a server and writes a first configuration file
pilotfish import PRODUCT FILE [-o FILE]  takes over the settings of ProxySQL, MaxScale and others
pilotfish explain STATEMENT [-c FILE]    tells where a statement would go, and why
pilotfish plan NEW.toml -c FILE          tells what a reload to another file would change
pilotfish probe -c FILE                  asks the backends how they are, and tells
pilotfish health -c FILE                 asks whether a proxy on this machine answers, for health checks
pilotfish status -c FILE                 says whether a proxy that runs is well; see below
pilotfish top -c FILE                    shows a proxy that runs, live
pilotfish binlog FILE... [--ddl|--json]  prints the events of binary log files
pilotfish schema diff CLUSTER -c FILE    tells what has changed in the schemas of a cluster, or writes SQL (--sql)
pilotfish schema export CLUSTER -c FILE  writes the history of the schemas as a Git repository (--git FOLDER)
pilotfish lua FILE [ARGUMENTS]           runs a script in the embedded interpreter
pilotfish sandbox [--help]               starts servers of its own, to try it out
pilotfish completions SHELL              prints completions for bash, zsh or fish

A proxy that runs: status, backends, sessions, pools, digests, rules, drain, disable, kill, reload, set, settings,
log-level, each with -c FILE. pilotfish COMMAND --help has an example.
";

fn general_help() -> String {
    let line = manual::help_line;
    [
        line(
            "--config FILE, -c FILE",
            "Settings, in TOML; options win over the file",
        ),
        line("--check", "Print every fault of the settings, and end"),
        line(
            "--defaults-file FILE",
            "Settings of MySQL Proxy, group [mysql-proxy]",
        ),
        line("--version, -V", "Print the version, and end"),
        line("-h", "Print the options most used, and end"),
        line("--help", "Print all options, and end"),
    ]
    .concat()
}

/// What `-h` prints: the general options, and the settings of the whole proxy.
fn short_help_text() -> String {
    let settings = manual::options_help(&SECTIONS[..1]);
    format!(
        "{TITLE}\nGeneral:\n{}\n{settings}--help tells of all settings.\n",
        general_help()
    )
}

/// What `--help` prints: every setting, in groups.
fn help_text() -> String {
    let settings = manual::options_help(SECTIONS);
    format!(
        "{TITLE}\nGeneral:\n{}\n{settings}{MYSQL_PROXY}",
        general_help()
    )
}

const MYSQL_PROXY: &str = "\
The options of MySQL Proxy are read as well: --proxy-address, --proxy-backend-addresses,
--proxy-read-only-backend-addresses and the others. The manual says what each means.
";

#[cfg(test)]
mod tests;
