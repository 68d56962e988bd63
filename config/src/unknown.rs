//! Names that are no setting, and the settings that the user may have meant.

use toml::Spanned;
use toml::de::DeValue;

use crate::listed::LISTS;
use crate::nearest::did_you_mean;
use crate::nearest::nearest;
use crate::setting::Section;
use crate::{Config, Fault, SECTIONS, SourceLocation};

/// The fault that a section's name has a value that is no table.
pub(crate) fn no_table(location: SourceLocation, name: &str, value: &DeValue<'_>) -> Fault {
    let fault = Fault::new(location, name, "must be a table");
    let list = nearest(name, LISTS).filter(|_| value.is_array());
    match list {
        Some(list) => fault.hint(format!("did you mean [[{list}]]?")),
        None => fault.hint(format!(
            "write [{name}], and its settings on the lines below"
        )),
    }
}

pub(crate) fn unknown(location: SourceLocation, name: &str, meant: Option<&str>) -> Fault {
    let fault = Fault::new(location, name, "is no setting");
    match meant {
        Some(meant) => fault.hint(did_you_mean(meant)),
        None => fault,
    }
}

pub(crate) fn unknown_in_section(
    location: SourceLocation,
    section: &Section<Config>,
    key: &str,
) -> Fault {
    let name = format!("{}.{key}", section.name);
    let keys = section.settings.iter().map(|setting| setting.key);
    let fault = unknown(location, &name, nearest(key, keys));
    match (&fault.hint, elsewhere(key)) {
        (None, Some("")) => fault.hint("it belongs above the first table"),
        (None, Some(other)) => fault.hint(format!("it belongs in [{other}]")),
        _ => fault,
    }
}

pub(crate) fn unknown_above_tables(
    location: SourceLocation,
    key: &str,
    value: &DeValue<'_>,
) -> Fault {
    let is_table = |it: &Spanned<DeValue<'_>>| it.get_ref().is_table();
    let is_list = value
        .as_array()
        .is_some_and(|them| them.iter().any(is_table));
    if value.is_table() || is_list {
        let names = SECTIONS
            .iter()
            .map(|section| section.name)
            .filter(|name| !name.is_empty());
        let shown = match is_list {
            true => format!("[[{key}]]"),
            false => format!("[{key}]"),
        };
        let fault = Fault::new(location, shown, "is no table of settings");
        return match nearest(key, names.chain(LISTS)) {
            Some(meant) if LISTS.contains(&meant) => {
                fault.hint(format!("did you mean [[{meant}]]?"))
            }
            Some(meant) => fault.hint(format!("did you mean [{meant}]?")),
            None => fault,
        };
    }
    let keys = Config::SECTION.settings.iter().map(|setting| setting.key);
    let fault = unknown(location, key, nearest(key, keys));
    match (&fault.hint, elsewhere(key)) {
        (None, Some(section)) => fault.hint(format!("it belongs in [{section}]")),
        _ => fault,
    }
}

/// The section that has a setting of this name.
fn elsewhere(key: &str) -> Option<&'static str> {
    let has = |section: &&Section<Config>| section.settings.iter().any(|it| it.key == key);
    SECTIONS.iter().find(has).map(|section| section.name)
}
