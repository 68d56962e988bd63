//! A change of the configuration.

/// One thing that becomes otherwise. Values are as a person types them: `5`, `2s`, `on`, `a, b` or
/// `["a", "b"]` for a list; none takes the setting out, so that its default holds.
#[derive(Clone, PartialEq, Eq)]
pub enum Edit {
    /// A setting, by its dotted name, or one of a list's item, `backend[db1].weight`.
    Set {
        /// Its name.
        setting: String,
        /// What it becomes.
        value: Option<String>,
    },
    /// A table joins a list, at the end or at a place from 1.
    Add {
        /// The list's name, such as `backend`.
        list: &'static str,
        /// Keys and values.
        values: Vec<(String, String)>,
        /// Where.
        place: Option<usize>,
    },
    /// Settings of one of a list's tables, all at once: its title may be among them.
    Change {
        /// The list's name.
        list: &'static str,
        /// Which one.
        title: String,
        /// Keys and values.
        values: Vec<(String, Option<String>)>,
        /// Where it is to stand from now on, from 1.
        place: Option<usize>,
    },
    /// A table goes.
    Remove {
        /// The list's name.
        list: &'static str,
        /// Which one.
        title: String,
    },
}

impl Edit {
    /// The settings that it is about, without their values.
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

/// Values stay out of it; one may be a password.
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
