//! A change of the configuration.

/// One change. Values are as users type them: `5`, `2s`, `on`, `a, b` or
/// `["a", "b"]` for a list. No value removes the setting, so that its default applies.
#[derive(Clone, PartialEq, Eq)]
pub enum Edit {
    /// Sets a setting, by its dotted name, or a setting of a list's item, `backend[db1].weight`.
    Set {
        /// Its name.
        setting: String,
        /// The new value.
        value: Option<String>,
    },
    /// Adds a table to a list, at the end or at a place (counted from 1).
    Add {
        /// The list's name, such as `backend`.
        list: &'static str,
        /// Keys and values.
        values: Vec<(String, String)>,
        /// Where.
        place: Option<usize>,
    },
    /// Changes several settings of a table of a list at once. The table's title may change, too.
    Change {
        /// The list's name.
        list: &'static str,
        /// Which one.
        title: String,
        /// Keys and values.
        values: Vec<(String, Option<String>)>,
        /// The new place of the table, counted from 1.
        place: Option<usize>,
    },
    /// Removes a table.
    Remove {
        /// The list's name.
        list: &'static str,
        /// Which one.
        title: String,
    },
}

impl Edit {
    /// The settings that the edit changes, without their values.
    pub fn names(&self) -> Vec<String> {
        let each = |of: String, keys: &mut dyn Iterator<Item = &String>| -> Vec<String> {
            keys.map(|key| format!("{of}.{key}")).collect()
        };
        match self {
            Self::Set { setting, .. } => vec![setting.clone()],
            Self::Add { list, values, .. } => each(
                format!("[[{list}]]"),
                &mut values.iter().map(|(key, _)| key),
            ),
            Self::Change {
                list,
                title,
                values,
                place,
            } => {
                let of = format!("{list}[{title}]");
                let mut names = each(of.clone(), &mut values.iter().map(|(key, _)| key));
                if place.is_some() {
                    names.push(format!("{of}'s place"));
                }
                names
            }
            Self::Remove { list, title } => vec![format!("{list}[{title}]")],
        }
    }
}

/// It does not show the values, because a value may be a password.
impl std::fmt::Debug for Edit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Set { setting, .. } => write!(f, "{setting} = …"),
            Self::Add { list, .. } => write!(f, "[[{list}]] …"),
            Self::Change { list, title, .. } => write!(f, "{list}[{title}] …"),
            Self::Remove { list, title } => write!(f, "{list}[{title}] goes"),
        }
    }
}
