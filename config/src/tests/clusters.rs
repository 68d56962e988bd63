//! Clusters: the destination of a session, and invalid settings of clusters.

use super::File;
use crate::*;

/// Two clusters. `main` has both roles; `reports` has only a replica.
const TWO: &str = "[[backend]]\naddress = \"p\"\n\
                   [[backend]]\naddress = \"r\"\nrole = \"replica\"\n\
                   [[backend]]\naddress = \"s\"\nrole = \"replica\"\ncluster = \"reports\"\n";

fn faults(text: &str) -> Vec<String> {
    File::new(&format!("{TWO}{text}")).faults()
}

#[test]
fn routing_of_an_account_overrides_its_listener_and_the_defaults() {
    let text = format!(
        "[routing]\nreplicas = \"any\"\nconsistency = \"none\"\n\
         optimistic_transactions = true\n{TWO}\
         [[listener]]\naddress = \":4050\"\nrouting.cluster = \"reports\"\nrouting.replicas = \"replica\"\n\
         routing.consistency = \"global\"\nrouting.optimistic_transactions = false\n\
         [[account]]\nuser = \"app\"\npassword = \"x\"\nrouting.cluster = \"main\"\nrouting.replicas = \"primary\"\n\
         routing.consistency = \"session\"\nrouting.optimistic_transactions = true\n\
         [[account]]\nuser = \"other\"\npassword = \"x\"\n"
    );
    let config = File::new(&text).load().unwrap().config;
    let [app, other] = [0, 1].map(|index| &config.configured_accounts[index]);
    let listener = &config.listeners[0];
    let said = |account, listener: Option<&ListenerConfig>| {
        let it = config.destination(account, listener);
        let is_optimistic = it.optimistic_transactions;
        assert_eq!(is_optimistic, listener.is_none() || account == Some(app));
        (it.cluster.to_owned(), it.replicas, it.consistency)
    };
    let main = |replicas, consistency| ("main".to_owned(), replicas, consistency);
    let of_app = main(ReplicaUse::Primary, Consistency::Session);
    let of_listener = (
        "reports".to_owned(),
        ReplicaUse::Replica,
        Consistency::Global,
    );
    let of_all = main(ReplicaUse::Any, Consistency::None);
    assert_eq!(said(Some(app), Some(listener)), of_app);
    assert_eq!(said(Some(other), Some(listener)), of_listener);
    assert_eq!(said(None, Some(listener)), of_listener);
    assert_eq!(said(Some(app), None), of_app);
    assert_eq!(said(None, None), of_all);
}

#[test]
fn a_backend_has_all_its_settings() {
    let text = "zone = \"a\"\n[health]\nmonitor_user = \"m\"\n[[backend]]\naddress = \"p\"\n\
                cluster = \"orders\"\nrole = \"auto\"\nzone = \"a\"\ntags = [\"reports\", \"slow\"]\n\
                lag_max = \"5s\"\ndrain = true\ndisable = true\nweight = 7";
    let loaded = File::new(text).load().unwrap();
    assert_eq!(loaded.warnings, []);
    let expected = BackendConfig {
        cluster: "orders".to_owned(),
        role: Role::Auto,
        weight: 7,
        zone: Some("a".to_owned()),
        tags: vec!["reports".to_owned(), "slow".to_owned()],
        lag_max: Some(std::time::Duration::from_secs(5)),
        drain: true,
        disable: true,
        ..BackendConfig::new("p".parse().unwrap(), Role::Auto)
    };
    assert_eq!(loaded.config.backends, [expected]);
    assert_eq!(loaded.config.default_cluster(), "orders");
}

#[test]
fn a_cluster_that_is_not_there_is_a_fault_with_the_one_that_was_meant() {
    assert_eq!(
        faults(
            "[[listener]]\naddress = \":4050\"\nrouting.cluster = \"report\"\nrouting.replicas = \"replica\""
        ),
        [
            "pilotfish.toml:12:19: listener.routing.cluster: no backend is in cluster \"report\"; hint: did you mean \"reports\"?"
        ]
    );
    assert_eq!(
        faults("[[account]]\nuser = \"a\"\npassword = \"x\"\nrouting.cluster = \"elsewhere\""),
        [
            "pilotfish.toml:13:19: account.routing.cluster: no backend is in cluster \"elsewhere\"; hint: there is \"main\", \"reports\""
        ]
    );
}

#[test]
fn a_cluster_without_the_role_that_its_sessions_want_is_a_fault() {
    let hint = "hint: give a primary (--backend), or set";
    assert_eq!(
        faults("[[account]]\nuser = \"a\"\npassword = \"x\"\nrouting.cluster = \"reports\""),
        [format!(
            "pilotfish.toml: routing.replicas: is \"split\", but no backend in cluster \"reports\" is a primary; {hint} routing.replicas = \"any\""
        )]
    );
    assert_eq!(
        faults(
            "[[account]]\nuser = \"a\"\npassword = \"x\"\nrouting.cluster = \"reports\"\nrouting.replicas = \"primary\""
        ),
        [format!(
            "pilotfish.toml:14:20: account.routing.replicas: is \"primary\", but no backend in cluster \"reports\" is a primary; {hint} account.routing.replicas = \"any\""
        )]
    );
}

#[test]
fn roles_and_lag_are_asked_for_with_an_account() {
    let hint = "hint: an account with which the proxy asks its backends";
    assert_eq!(
        File::new("[[backend]]\naddress = \"p\"\nrole = \"auto\"\nlag_max = \"5s\"").faults(),
        [
            format!("pilotfish.toml:3:8: backend.role: \"auto\" needs health.monitor_user; {hint}"),
            format!(
                "pilotfish.toml:4:11: backend.lag_max: a limit needs health.monitor_user; {hint}"
            ),
        ]
    );
    assert_eq!(
        File::new("[balance]\nlag_max = \"5s\"\n[[backend]]\naddress = \"p\"").faults(),
        [format!(
            "pilotfish.toml:2:11: balance.lag_max: a limit needs health.monitor_user; {hint}"
        )]
    );
    let unlimited = "[[backend]]\naddress = \"p\"\nlag_max = \"0s\"";
    assert_eq!(File::new(unlimited).faults(), Vec::<String>::new());
}

#[test]
fn a_zone_without_a_backend_gives_a_warning() {
    let warnings = |text: &str| -> Vec<String> {
        let loaded = File::new(text).load().unwrap();
        let warnings = loaded
            .warnings
            .iter()
            .map(|it| format!("{} {:?}", it.text, it.hint));
        warnings.collect()
    };
    let backend = "[[backend]]\naddress = \"p\"";
    assert_eq!(
        warnings(&format!("zone = \"east\"\n{backend}")),
        ["no backend is in zone \"east\" Some(\"give backends their zone\")"]
    );
    assert_eq!(
        warnings(&format!(
            "zone = \"northeest\"\n{backend}\nzone = \"northeast\""
        )),
        ["no backend is in zone \"northeest\" Some(\"did you mean \\\"northeast\\\"?\")"]
    );
}
