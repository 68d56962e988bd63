//! Translates the options of the replication client.

use std::path::PathBuf;

use super::replicant::{NOT_ALONE, ReplicantOption};
use super::{Translation, with_mysql_port};
use crate::{Fault, Override, PRIMARIES, REPLICAS, Secret, SourceLocation};

impl Translation {
    pub(super) fn set_replicant(
        &mut self,
        option: ReplicantOption,
        (name, location): (&str, &SourceLocation),
        words: &[String],
    ) {
        let Some(word) = words.last() else {
            return;
        };
        let mut refuse = |text| self.faults.push(Fault::new(location.clone(), name, text));
        let replicant = &mut self.replicant;
        match option {
            ReplicantOption::Address => replicant.address = Some(with_mysql_port(word)),
            ReplicantOption::Port => match word.parse::<u16>() {
                Ok(port) if port > 0 => replicant.address = Some(format!("127.0.0.1:{port}")),
                _ => refuse("must be a port from 1 to 65535"),
            },
            ReplicantOption::Username => replicant.username = Some(word.clone()),
            ReplicantOption::Password => replicant.password = Some(Secret::new(word.as_str())),
            ReplicantOption::ReadBinlogs => replicant.binlogs = Some(PathBuf::from(word)),
            ReplicantOption::Mode if word == "reverse" => replicant.is_wanted = true,
            ReplicantOption::Mode => refuse("must be \"reverse\"; leave it out for the proxy"),
        }
    }

    /// Makes the server that the replication client follows the only backend.
    pub fn follow_source(&mut self) {
        let replicant = &self.replicant;
        if !replicant.is_asked_for() {
            let account = [
                ("--replicant-username", replicant.username.is_some()),
                ("--replicant-password", replicant.password.is_some()),
            ];
            if let Some((name, _)) = account.into_iter().find(|(_, is_given)| *is_given) {
                let text = "there is no server to follow: add --replicant-master-address";
                let location = SourceLocation::COMMAND_LINE;
                self.faults.push(Fault::new(location, name, text));
            }
            return;
        }
        let of_proxy = [PRIMARIES, REPLICAS, "listen"];
        for given in self
            .overrides
            .iter()
            .filter(|it| of_proxy.contains(&it.setting))
        {
            let fault = Fault::new(given.location.clone(), &*given.name, NOT_ALONE);
            self.faults.push(fault);
        }
        self.overrides.push(Override {
            setting: PRIMARIES,
            name: "--replicant-master-address".to_owned(),
            location: SourceLocation::COMMAND_LINE,
            words: vec![replicant.address().to_owned()],
        });
    }
}
