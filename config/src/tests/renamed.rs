//! Settings by the names that they had in earlier versions.

use super::{File, with_backend};
use crate::{Draft, Edit, new_name, renamed, setting};

const OLD: &str = "\
[balance]
replicas = \"any\"
consistency = \"none\"
[pool]
session = \"transaction\"
lanes = \"off\"
[insight]
samples = true
[history]
retention = \"1d\"
[digests]
count_max = 5
[[listener]]
address = \":4050\"
session = \"transparent\"
[[account]]
user = \"app\"
password = \"env:PATH\"
replicas = \"primary\"
[[rule]]
name = \"r\"
role = \"any\"
rate = 5
over = \"refuse\"
watch = true
[log]
sampled_statements = 50
[slow_log]
one_of = 10
values = true
[query_log]
one_of = 100
values = true
[profiling]
one_of = 1000
asks = [\"status\", \"trace\"]
values = true
[tracing]
one_of = 0
values = true
";

const NEW: &str = "\
[routing]
replicas = \"any\"
consistency = \"none\"
session = \"transaction\"
lanes = \"off\"
[statement_stats]
include_values = true
history_retention = \"1d\"
plan_digests_max = 5
[[listener]]
address = \":4050\"
routing.session = \"transparent\"
[[account]]
user = \"app\"
password = \"env:PATH\"
[account.routing]
replicas = \"primary\"
[[rule]]
name = \"r\"
routing = { replicas = \"any\" }
rate = 5
on_limit = \"refuse\"
dry_run = true
[log]
sample_one_in = 50
[slow_log]
sample_one_in = 10
include_values = true
[query_log]
sample_one_in = 100
include_values = true
[profiling]
sample_one_in = 1000
collect = [\"status\", \"trace\"]
include_values = true
[tracing]
sample_one_in = 0
include_values = true
";

#[test]
fn a_former_setting_name_works_and_warns_with_the_new_name() {
    let (old, new) = (File::new(&with_backend(OLD)), File::new(&with_backend(NEW)));
    let (old, new) = (old.load().unwrap(), new.load().unwrap());
    assert_eq!(old.config, new.config);
    assert_eq!(new.warnings, []);
    let warnings: Vec<_> = old.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 22, "{warnings:#?}");
    let told = "22:1: rule.role: has another name now; hint: write rule.routing.replicas; the next version knows it by \
                that alone";
    assert!(
        warnings.iter().any(|it| it.ends_with(told)),
        "{warnings:#?}"
    );
}

#[test]
fn a_setting_has_one_name_in_a_file() {
    for text in [
        "[balance]\nreplicas = \"any\"\n[routing]\nreplicas = \"any\"\n",
        "[routing]\nreplicas = \"any\"\n[balance]\nreplicas = \"any\"\n",
        "[insight]\nsamples = true\n[statement_stats]\nsamples = true\n",
        "[slow_log]\nvalues = true\ninclude_values = true\n",
        "[[rule]]\nname = \"r\"\ndry_run = true\nwatch = true\n",
        "[[listener]]\naddress = \":4050\"\nlanes = \"off\"\nrouting.lanes = \"off\"\n",
    ] {
        let faults = File::new(&with_backend(text)).load().unwrap_err();
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        let fault = faults[0].to_string();
        assert!(
            fault.ends_with("is given twice, once by its old name"),
            "{fault}"
        );
    }
}

#[test]
fn every_old_name_leads_to_a_setting() {
    let lists = ["listener", "account", "rule"];
    for (old, new) in renamed() {
        let is_of_list = lists.iter().any(|list| new.starts_with(list));
        assert!(
            is_of_list || setting(old).is_some_and(|it| it.name == new),
            "{old}"
        );
        assert_eq!(new_name(old), Some(new));
        assert_eq!(new_name(new), None, "{new}");
    }
}

#[test]
fn a_change_takes_the_old_name_out_of_the_file() {
    let file = File::new(&with_backend(OLD));
    let draft = Draft::of_file(&file.path()).unwrap();
    let set = |setting: &str, value: Option<&str>| Edit::Set {
        setting: setting.to_owned(),
        value: value.map(str::to_owned),
    };
    let edits = [
        set("balance.replicas", Some("split")),
        set("insight.samples", None),
        set("account['app'@'%'].replicas", Some("any")),
        set("rule[r].role", None),
    ];
    let changed = draft.with(&edits).unwrap();
    let text = changed.text();
    assert!(text.contains("[routing]\nreplicas = \"split\"\n"), "{text}");
    assert!(text.contains("routing.replicas = \"any\"\n"), "{text}");
    for gone in [
        "samples",
        "role",
        "\nreplicas = \"any\"",
        "\nreplicas = \"primary\"",
    ] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
}
