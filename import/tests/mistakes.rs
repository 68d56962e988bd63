//! Broken input: an error with its line, no panic, and bounded memory.

use pilotfish_import::Product;
use proptest::prelude::*;

use super::{configurations, taken_over};

fn refusal(product: Product, text: &str) -> String {
    taken_over(product, text).unwrap_err().to_string()
}

#[test]
fn an_error_names_the_line_and_the_correction() {
    let of_proxysql = refusal(Product::ProxySql, "mysql_servers =\n(\n  { address=\"a\"\n");
    assert!(
        of_proxysql.starts_with("4: the bracket of line 3 is not closed; hint: write }"),
        "{of_proxysql}"
    );
    let of_text = refusal(Product::ProxySql, "datadir=\"a\n");
    assert!(
        of_text.starts_with("1: a text has no end; hint: "),
        "{of_text}"
    );
    let of_include = refusal(Product::ProxySql, "\n@include \"other.cnf\"\n");
    assert!(
        of_include.starts_with("2: @include is not followed; hint: "),
        "{of_include}"
    );
    let of_maxscale = refusal(Product::MaxScale, "threads=1\n");
    assert!(
        of_maxscale.starts_with("1: the line stands before the first section; hint: "),
        "{of_maxscale}"
    );
    let of_router = refusal(Product::MysqlRouter, "[routing:a]\nbind_port\n");
    assert!(
        of_router.starts_with("2: the line is neither"),
        "{of_router}"
    );
    let of_haproxy = refusal(Product::Haproxy, "\n  bind :1\n");
    assert!(
        of_haproxy.starts_with("2: \"bind\" stands before the first section; hint: "),
        "{of_haproxy}"
    );
    let of_mysql_proxy = refusal(Product::MysqlProxy, "a = b\n");
    assert!(
        of_mysql_proxy.starts_with("1: stands before the first group; hint: "),
        "{of_mysql_proxy}"
    );
}

#[test]
fn a_file_without_servers_says_where_they_are() {
    let of_proxysql = refusal(Product::ProxySql, "datadir=\"/var/lib/proxysql\"\n");
    assert!(
        of_proxysql.contains("import from its admin port"),
        "{of_proxysql}"
    );
    let of_router = "[routing:a]\nbind_port=1\ndestinations=metadata-cache://c/?role=PRIMARY\n";
    let of_router = refusal(Product::MysqlRouter, of_router);
    assert!(
        of_router.contains("bootstrap_server_addresses"),
        "{of_router}"
    );
    assert!(refusal(Product::MaxScale, "[maxscale]\n").contains("has no server"));
    assert!(refusal(Product::Haproxy, "global\n").contains("no proxy for MySQL"));
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = format!("a = {}", "(".repeat(100_000));
    assert!(refusal(Product::ProxySql, &deep).contains("too deep"));
    let large = "# \n".repeat(6 << 20);
    for product in Product::ALL {
        assert!(refusal(*product, &large).contains("bytes; at most"));
    }
    let mut chain =
        String::from("mysql_servers = ( { address=\"a\" hostgroup=1 } )\nmysql_query_rules = (\n");
    for rule in 0..400 {
        chain.push_str(&format!(
            "{{ rule_id={rule} active=1 flagIN={} flagOUT={} }},\n",
            rule / 20,
            rule / 20 + 1
        ));
    }
    chain.push(')');
    let imported = taken_over(Product::ProxySql, &chain).unwrap();
    assert!(
        imported
            .notes
            .iter()
            .any(|it| it.reason.contains("beyond 10000 rules")),
        "{:?}",
        imported.notes
    );
}

#[test]
fn a_value_cannot_end_its_line_or_its_comment() {
    let text = "mysql_servers = ( { address=\"a\" hostgroup=1 comment=\"x\\n[log]\\nlevel = 'debug'\" } )\n\
                mysql_users = ( { username=\"a\\\"b\" password=\"p'\\\"\\\\\" default_hostgroup=1 } )";
    let imported = taken_over(Product::ProxySql, text).unwrap();
    let config = super::loaded(&imported);
    assert_eq!(config.log, config::LogConfig::default());
    assert_eq!(config.configured_accounts[0].user, "a\"b");
    assert_eq!(
        config.configured_accounts[0]
            .password
            .as_ref()
            .unwrap()
            .expose(),
        "p'\"\\"
    );
}

proptest! {
    /// The import accepts or refuses a configuration with a piece cut out, or with other bytes in its place.
    #[test]
    fn damaged_files_are_taken_over_or_refused(
        product in 0..Product::ALL.len(),
        file in 0..10_usize,
        from in 0.0..1.0,
        length in 0..60_usize,
        put in "[\\[\\]{}()=\"'#,;:a-z0-9 \\n\\\\$%/-]{0,6}",
    ) {
        let product = Product::ALL[product];
        let text = std::fs::read_to_string(&configurations(product)[file]).unwrap();
        let letters: Vec<char> = text.chars().collect();
        let start = (letters.len() as f64 * from) as usize;
        let end = (start + length).min(letters.len());
        let damaged: String = letters[..start].iter().collect::<String>() + &put + &letters[end..].iter().collect::<String>();
        if let Ok(imported) = taken_over(product, &damaged) {
            super::loaded(&imported);
        }
    }
}
