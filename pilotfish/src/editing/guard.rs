//! Changes that administrators may not make over the admin port.

use config::{AdminRole, BACKEND, Config, Edit, PRIMARIES, REPLICAS};

use crate::arguments::ServeArguments;

/// Why a configuration would lock out the user that asks for it, or all users; `user` is `name@host`.
pub fn locked_out(user: &str, config: &Config) -> Option<String> {
    let name = user.rsplit_once('@').map_or(user, |(name, _)| name);
    let admins = config.admins();
    let mut able = admins.iter().filter(|it| it.role == AdminRole::Admin);
    if config.admin.address.is_empty() {
        return Some("admin.address: the admin port would be gone at the next start".to_owned());
    }
    match able.any(|it| it.user == name) {
        true => None,
        false => Some(format!(
            "{name} could change nothing any more; the file says who may, or another user with the role admin"
        )),
    }
}

/// The option of the command line that sets the same as one of these changes.
pub fn overridden(arguments: &ServeArguments, edits: &[Edit]) -> Option<String> {
    let given = arguments.setting_overrides();
    let meant = |setting: &str, edit: &Edit| match edit {
        Edit::Set { setting: name, .. } => name == setting || is_backend(setting, name),
        Edit::Add { list, .. } | Edit::Change { list, .. } | Edit::Remove { list, .. } => {
            is_backend(setting, list)
        }
    };
    let mut given = given.into_iter();
    given
        .find(|(setting, _)| edits.iter().any(|edit| meant(setting, edit)))
        .map(|(_, option)| option)
}

/// Whether an option sets the backends, and a name is that of a backend or of their list.
fn is_backend(setting: &str, name: &str) -> bool {
    let list = name.split('[').next().unwrap_or_default();
    matches!(setting, PRIMARIES | REPLICAS) && list == BACKEND.name
}
