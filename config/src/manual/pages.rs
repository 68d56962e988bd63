//! The manual's pages of settings: a page with the ten most important settings, and a page for each table.

use std::fmt::Write;

use crate::define::SectionOf;
use crate::listed::ArrayTable;
use crate::mysql_proxy::{self, Legacy, Meaning};
use crate::setting::{Section, Setting};
use crate::{
    ACCOUNT, AccountConfig, AccountsConfig, AdminAccountConfig, AdminConfig, BACKEND,
    BackendConfig, ChangeFileConfig, Config, HintsConfig, KafkaConfig, ListenerConfig, PRIMARIES,
    REPLICAS, ReplicationConfig, ReplicationFilterConfig, RuleConfig, RuleTestConfig, SECTIONS,
    SchemaHistoryConfig, setting,
};

/// A page of the manual.
pub struct Page {
    /// Its path from the manual's folder.
    pub path: String,
    /// Its title, for the manual's table of contents.
    pub title: &'static str,
    /// The table of the file that the page is about, as the file has it; empty if there is none.
    pub table: String,
    /// Its text, in Markdown.
    pub text: String,
}

/// The manual's pages of settings: first the page with links to all others.
pub fn settings_pages() -> Vec<Page> {
    let (whole, tables) = SECTIONS
        .split_first()
        .expect("there is a section above all tables");
    let mut pages = vec![
        section_page(whole, &Config::default()),
        list_page::<ListenerConfig>(),
        list_page::<BackendConfig>(),
    ];
    for section in tables {
        if section.name == <SchemaHistoryConfig as SectionOf<Config>>::SECTION.name {
            pages.push(list_page::<ReplicationConfig>());
            pages.push(list_page::<ReplicationFilterConfig>());
            pages.push(list_page::<ChangeFileConfig>());
            pages.push(list_page::<KafkaConfig>());
        }
        pages.push(section_page(section, &Config::default()));
        if section.name == <AccountsConfig as SectionOf<Config>>::SECTION.name {
            pages.push(list_page::<AccountConfig>());
        }
        if section.name == <AdminConfig as SectionOf<Config>>::SECTION.name {
            pages.push(list_page::<AdminAccountConfig>());
        }
        if section.name == <HintsConfig as SectionOf<Config>>::SECTION.name {
            pages.push(list_page::<RuleConfig>());
            pages.push(list_page::<RuleTestConfig>());
        }
    }
    pages.push(mysql_proxy_page());
    pages.insert(0, first_page(&pages));
    pages
}

/// The first page: the ten most important settings, how settings are written, and links to all others.
fn first_page(others: &[Page]) -> Page {
    let mut text = format!(
        "{WRITTEN}# Settings\n\n{TEN}\n| setting | what it says | unless set |\n|---|---|---|\n"
    );
    for name in [
        "listen",
        "backend.address",
        "backend.role",
        "account.user",
        "health.monitor_user",
    ] {
        text.push_str(&line_of_ten(name));
    }
    for name in [
        "routing.replicas",
        "balance.lag_max",
        "pool.backend_connections_max",
    ] {
        text.push_str(&line_of_ten(name));
    }
    for name in ["limits.sessions_max", "admin.username"] {
        text.push_str(&line_of_ten(name));
    }
    let _ = write!(
        text,
        "\n{RULES}\n## All tables\n\n| page | table | |\n|---|---|---|\n"
    );
    for page in others {
        let about = page.text.split("\n\n").nth(1).unwrap_or_default();
        let first = about.split_inclusive(". ").next().unwrap_or_default();
        let first = first.trim_end().replace("](../", "](");
        let (title, path, table) = (page.title, &page.path, &page.table);
        let _ = writeln!(text, "| [{title}]({path}) | {table} | {first} |");
    }
    Page {
        path: "settings.md".to_owned(),
        title: "Settings",
        table: String::new(),
        text,
    }
}

/// A line of the table of the ten settings.
fn line_of_ten(name: &str) -> String {
    let of_list = |name: &str| {
        let backend = BACKEND.settings.iter().find(|it| it.name == name);
        let backend = backend.map(|it| (it.summary(), facts(it, &BackendConfig::default())));
        let account = ACCOUNT.settings.iter().find(|it| it.name == name);
        backend.or(account.map(|it| (it.summary(), facts(it, &AccountConfig::default()))))
    };
    let whole = setting(name).map(|it| (it.summary(), facts(it, &Config::default())));
    let (summary, facts) = whole.or_else(|| of_list(name)).unwrap_or_default();
    let default = facts
        .first()
        .map_or("", |it| it.trim_start_matches("Default: "));
    let default = default.trim_start_matches("Default ");
    let table = name.split_once('.').map_or("proxy", |(table, _)| table);
    let anchor = name.replace('.', "");
    format!("| [`{name}`](settings/{table}.md#{anchor}) | {summary} | {default} |\n")
}

const WRITTEN: &str = "\
<!-- Written by `cargo run -p xtask -- settings` from config/src/model.rs and what is beside it;
     changes here are lost. -->
";

const TEN: &str = "\
Every setting has a default; `pilotfish --backend HOST:PORT` needs no file. These ten are what most people set, and the
tables behind them have all others.

```toml
listen = [\":4040\"]

[[backend]]
address = \"db1:3306\"

[[backend]]
address = \"db2:3306\"
role = \"replica\"

[[account]]
user = \"app\"
password = \"env:APP_PASSWORD\"

[health]
monitor_user = \"monitor\"
monitor_password = \"file:/etc/pilotfish/monitor.password\"

[routing]
replicas = \"split\"

[balance]
lag_max = \"5s\"

[pool]
backend_connections_max = 100

[limits]
sessions_max = 500

[admin]
username = \"root\"
password = \"file:/etc/pilotfish/admin.password\"
```

`pilotfish --config FILE --check` reads the whole file, prints every fault with its line and what to
do about it, and ends with exit code 1 when there is one.
";

const RULES: &str = "\
## How settings are written

- A file is given with `--config FILE` and is written in [TOML](https://toml.io).
- Each setting is also an option of the command line, which wins over the file:
  `limits.sessions_max` is `--limits-sessions-max`. An option for a list takes its values with commas
  between them, and may be repeated.
- A duration is a text such as `\"500ms\"`, `\"2s\"`, `\"10m\"`, `\"8h\"`, or a number of seconds. A size is a
  text such as `\"16MiB\"`, or a number of bytes.
- An address is `\"host:port\"`, `\"[IPv6]:port\"`, or the path of a Unix socket, `\"/run/db.sock\"` or
  `\"unix:/run/db.sock\"`.
- Relative paths in the file start from the file's folder, those on the command line from the working
  directory.
- An empty text takes away a value that an optional setting has.
- On SIGHUP the file is read again. If it has a fault, nothing changes and the log says why.
  Otherwise all settings marked \"applies at reload\" take effect at once, and those of new sessions
  for new sessions. The log names every setting that changed, and those that need a restart.
- A setting that had another name in the last version is understood by it, with a warning that says the new one.
";

/// The page of a section.
fn section_page(section: &Section<Config>, default: &Config) -> Page {
    let table = match section.name {
        "" => String::new(),
        name => format!("`[{name}]`"),
    };
    settings_of(section, table, default, |setting| {
        let own = setting.option();
        let others = mysql_proxy::names_of(setting.name).filter(|option| option.name != own);
        let others = others.map(|option| option.name.to_owned());
        let options = std::iter::once(own.clone()).chain(others);
        options.map(|option| format!("`--{option}`")).collect()
    })
}

/// The page of a list. The command line has no options for its settings.
fn list_page<T: ArrayTable>() -> Page {
    let table = format!("`[[{}]]`", T::TABLE.name);
    settings_of(&T::TABLE, table, &T::default(), |_| Vec::new())
}

fn settings_of<Owner>(
    section: &Section<Owner>,
    table: String,
    default: &Owner,
    options: impl Fn(&Setting<Owner>) -> Vec<String>,
) -> Page {
    let title = format!("{} {table}", section.title);
    let about = section.about();
    let mut page = format!("{WRITTEN}# {}\n\n{about}\n", title.trim_end());
    for setting in section.settings.iter().filter(|it| it.table().is_none()) {
        let _ = write!(page, "\n## `{}`\n\n{}\n\n", setting.name, setting.about());
        if let Some(choices) = setting.kind.choices() {
            for choice in choices {
                let _ = writeln!(page, "- `\"{}\"`: {}", choice.name, choice.about());
            }
            page.push('\n');
        }
        let mut facts = facts(setting, default);
        facts.extend(options(setting));
        let _ = writeln!(page, "{}", facts.join(" · "));
    }
    let in_tables = section.settings.iter().filter(|it| it.table().is_some());
    let in_tables: Vec<_> = in_tables.collect();
    if let Some(first) = in_tables.first() {
        routing_of(
            &mut page,
            section.name,
            first.table().unwrap_or_default(),
            &in_tables,
        );
    }
    let file = match section.name {
        "" => "proxy".to_owned(),
        name => name.replace('.', "-"),
    };
    Page {
        path: format!("settings/{file}.md"),
        title: section.title,
        table,
        text: from_below(&page),
    }
}

/// A page's text, with its links to other pages changed for a folder one level below.
fn from_below(text: &str) -> String {
    let parts: Vec<&str> = text.split("](").collect();
    let first = parts.first().copied().unwrap_or_default().to_owned();
    parts.iter().skip(1).fold(first, |mut whole, part| {
        let target = part.split(')').next().unwrap_or_default();
        let is_page = target
            .split('#')
            .next()
            .is_some_and(|it| it.ends_with(".md"));
        let is_own = target.starts_with("settings/");
        whole.push_str(match (is_page, is_own) {
            (true, false) => "](../",
            _ => "](",
        });
        whole.push_str(match is_own {
            true => part.trim_start_matches("settings/"),
            false => part,
        });
        whole
    })
}

/// Writes the settings of a table within each table of a list. Their texts are only on the page of that table.
fn routing_of<Owner>(page: &mut String, list: &str, table: &str, settings: &[&Setting<Owner>]) {
    let _ = write!(
        page,
        "\n## `{list}.{table}`\n\nWhat it says of [{table}](settings/{table}.md), with these keys of that table. A key \
         that is not given is left to {}.\n\n",
        settings[0].traits.default_text.unwrap_or("others"),
    );
    for setting in settings {
        let applies = setting.traits.applies.describe();
        let _ = writeln!(page, "- `{}`: {} · {applies}", setting.key, setting.about());
    }
}

/// The facts about a setting, without its options: default, range and so on.
fn facts<Owner>(setting: &Setting<Owner>, default: &Owner) -> Vec<String> {
    let mut facts = vec![match setting.traits.default_text {
        _ if setting.traits.required => "Required".to_owned(),
        Some(text) if text.contains(' ') => format!("Default: {text}"),
        Some(text) => format!("Default `{text}`"),
        None => match (setting.show)(default).as_str() {
            "\"\"" => "Default: none".to_owned(),
            shown => format!("Default `{shown}`"),
        },
    }];
    facts.extend(setting.range().map(|range| format!("from {range}")));
    facts.extend(
        setting
            .traits
            .nothing
            .map(|meaning| format!("0: {meaning}")),
    );
    facts.push(setting.traits.applies.describe().to_owned());
    facts
}

fn mysql_proxy_page() -> Page {
    let mut page = format!("{WRITTEN}{MYSQL_PROXY}");
    for option in mysql_proxy::OPTIONS {
        let _ = writeln!(page, "| {} | {} |", spelled(option), here(option));
    }
    Page {
        path: "settings/mysql-proxy.md".to_owned(),
        title: "MySQL Proxy's options",
        table: String::new(),
        text: page,
    }
}

const MYSQL_PROXY: &str = "# MySQL Proxy's options

The options of MySQL Proxy 0.8 are read too, on the command line and from its `--defaults-file` (group
`[mysql-proxy]`). The command line wins over that file.

| MySQL Proxy | Pilotfish |
|---|---|
";

fn spelled(option: &Legacy) -> String {
    match option.short {
        Some(letter) => format!("`--{}`, `-{letter}`", option.name),
        None => format!("`--{}`", option.name),
    }
}

fn here(option: &Legacy) -> String {
    match option.meaning {
        Meaning::Setting(list) if [PRIMARIES, REPLICAS].contains(&list) => {
            format!("`--{}`", list.replace('_', "-"))
        }
        Meaning::Setting(name) => format!("`{name}`"),
        Meaning::Listen => "`listen`; without a port 3306 is meant".to_owned(),
        Meaning::BaseFolder => "relative paths of options start from it".to_owned(),
        Meaning::Plugins => {
            "`proxy`, `admin`, and `replicant` alone; others are refused".to_owned()
        }
        Meaning::Replicant(option) => option.describe().to_owned(),
        Meaning::Unneeded(text) => format!("accepted with a warning: {text}"),
        Meaning::Refused(text) => format!("refused: {text}"),
    }
}
