//! The indexes that statements use, by the servers' EXPLAIN. No client notices the EXPLAIN statements.

use std::collections::BTreeMap;

use e2e::raw::{Execute, Login, Param, RawConn};
use e2e::{Cluster, PASSWORD, Product, Server, Settings, wait};

use super::{Watched, columns, refused, rows};

both! {
    index_usage_equals_the_listing_of_the_article
    full_scans_and_unused_indexes_are_listed
    explain_runs_on_replicas_and_executes_no_statement
    executions_are_explained_with_their_values
    explain_leaves_no_trace_on_the_clients_connection
    a_failed_explain_is_counted_and_disturbs_no_session
    index_usage_is_off_by_default_and_can_be_reset
    statements_that_are_unsafe_to_explain_are_not_explained
}

/// A schema like MySQL's well-known sample database `world`.
const WORLD: &[&str] = &[
    "CREATE TABLE Country (Code CHAR(3) PRIMARY KEY, Name CHAR(52) NOT NULL, Continent \
     ENUM('Asia','Europe','North America','Africa','Oceania','Antarctica','South America') NOT NULL, \
     Population INT NOT NULL, KEY Continent (Continent, Population)) CHARSET=latin1",
    "CREATE TABLE City (ID INT PRIMARY KEY AUTO_INCREMENT, Name CHAR(35) NOT NULL, CountryCode CHAR(3) \
     NOT NULL, District CHAR(20) NOT NULL, Population INT NOT NULL, KEY CountryCode (CountryCode), \
     KEY CountryName (CountryCode, Name), KEY TwiceTheSame (CountryCode, Name), UNIQUE KEY OnlyOne (Name, ID), \
     CONSTRAINT fk FOREIGN KEY (CountryCode) REFERENCES Country (Code)) CHARSET=latin1",
];

/// Makes the schema anew, with many rows.
fn make_world(server: &Server, schema: &str) {
    let mut root = server.root();
    root.run(&format!("DROP DATABASE IF EXISTS {schema}"));
    root.run(&format!("CREATE DATABASE {schema}"));
    root.run(&format!("USE {schema}"));
    WORLD.iter().for_each(|table| drop(root.run(table)));
    let countries = (0..239).map(|at| {
        format!(
            "('C{at:02X}', 'Country {at}', {}, {})",
            1 + at % 7,
            at * 1000
        )
    });
    let countries: Vec<_> = countries.collect();
    root.run(&format!(
        "INSERT INTO Country VALUES {}",
        countries.join(",")
    ));
    let cities = (0..2000).map(|at| {
        format!(
            "('City {at}', 'C{:02X}', 'District {}', {at})",
            at % 239,
            at % 300
        )
    });
    let cities: Vec<_> = cities.collect();
    root.run(&format!(
        "INSERT INTO City (Name, CountryCode, District, Population) VALUES {}",
        cities.join(",")
    ));
    root.run("ANALYZE TABLE Country, City");
}

fn watched(server: &Server, connections: i32) -> Watched {
    Watched::start(Settings::pooled(server, connections).set("statement_stats.index_usage", true))
}

/// Waits until a digest was explained so often, and returns its plans.
#[track_caller]
fn plan(look: &mut RawConn, digest: &str, times: u32) -> Vec<BTreeMap<String, String>> {
    let sql =
        format!("SELECT * FROM plans WHERE digest_text LIKE '{digest}' AND explained >= {times}");
    wait::until("it has been explained", wait::SOON, || {
        !rows(look, &sql).is_empty()
    });
    rows(look, &sql)
}

fn world(watched: &Watched, schema: &str) -> RawConn {
    watched.proxy.connect_as(&Login::app().schema(schema))
}

fn index_usage_equals_the_listing_of_the_article(product: Product) {
    let server = Server::lease(product);
    make_world(&server, "world");
    let watched = watched(&server, 4);
    let mut look = watched.look();
    let mut client = world(&watched, "world");
    client.run("SELECT * FROM Country WHERE Code = 'C01'");
    client.run("SELECT * FROM City WHERE id = 1");
    client.run("SELECT MAX(population), continent FROM Country GROUP BY continent");
    for digest in ["%Code%", "%id =%", "%GROUP BY%"] {
        plan(&mut look, digest, 1);
    }
    let listing = "select * from index_usage";
    assert_eq!(
        columns(&mut look, listing),
        ["name", "used", "max_used_key_len", "avg_used_key_len"]
    );
    let listed = |look: &mut RawConn| {
        let mut listed = look.run(listing).texts();
        listed.sort();
        listed
    };
    assert_eq!(
        listed(&mut look),
        [
            ["world.City.PRIMARY", "1", "4", "4.0000"],
            ["world.Country.Continent", "1", "1", "1.0000"],
            ["world.Country.PRIMARY", "1", "3", "3.0000"],
        ]
    );
    // Further executions are counted, and the proxy does not run EXPLAIN again.
    for id in 2..10 {
        client.run(&format!("SELECT * FROM City WHERE id = {id}"));
    }
    assert_eq!(
        listed(&mut look)[0],
        ["world.City.PRIMARY", "9", "4", "4.0000"]
    );
    let explained = "SELECT sum(explained) FROM (SELECT DISTINCT digest, explained FROM plans)";
    assert_eq!(look.run(explained).texts(), [["3"]]);
    // After RESET DIGESTS the counts of index uses continue.
    watched.root().run("RESET DIGESTS");
    client.run("SELECT * FROM City WHERE id = 3");
    assert_eq!(
        listed(&mut look)[0],
        ["world.City.PRIMARY", "10", "4", "4.0000"]
    );
}

fn full_scans_and_unused_indexes_are_listed(product: Product) {
    let server = Server::shared(product);
    let schema = "index_advice";
    make_world(server, schema);
    let watched = watched(server, 4);
    let mut look = watched.look();
    let mut client = world(&watched, schema);
    for _ in 0..3 {
        client
            .run("SELECT c.Name FROM City c WHERE c.District = 'District 7' AND c.Population > 5");
    }
    client.run("SELECT Name FROM City WHERE CountryCode = 'C01'");
    plan(&mut look, "%District%", 1);
    plan(&mut look, "%CountryCode%", 1);

    wait::until("the indexes are known", wait::SOON, || {
        look.run("SELECT index_name FROM unused_indexes")
            .texts()
            .len()
            > 3
    });
    let scans = rows(&mut look, "SELECT * FROM full_scans");
    let [scan] = &scans[..] else {
        panic!("one statement reads a whole table: {scans:?}");
    };
    let of = |column: &str| scan[column].as_str();
    assert_eq!(
        (of("schema_name"), of("table_name"), of("type")),
        (schema, "City", "ALL")
    );
    assert_eq!(
        (of("column_names"), of("count")),
        ("District, Population", "3")
    );
    let number = |column: &str| scan[column].parse::<u64>().unwrap();
    assert!(
        number("row_count") > 1000 && number("rows_total") == 3 * number("row_count"),
        "{scan:?}"
    );

    let unused = "SELECT table_name, index_name, column_names, ifnull(kept_for, '-') FROM unused_indexes \
                  WHERE table_digests > 0 ORDER BY index_name";
    let mut unused = look.run(unused).texts();
    // Three indexes begin with the country. The server may choose any of them, so the test ignores all three.
    unused.retain(|row| !["CountryCode", "CountryName", "TwiceTheSame"].contains(&row[1].as_str()));
    assert_eq!(
        unused,
        [
            ["City", "OnlyOne", "Name, ID", "unique"],
            ["City", "PRIMARY", "ID", "primary key"],
        ]
    );
    let kept = "SELECT count(*) FROM unused_indexes WHERE kept_for = 'foreign key'";
    assert_eq!(look.run(kept).texts(), [["2"]]);

    let suggested = look
        .run("SELECT suggestion, statement FROM index_suggestions")
        .texts();
    let table = format!("ALTER TABLE `{schema}`.`City`");
    assert_eq!(
        suggested,
        [
            [
                "add",
                &*format!("{table} ADD INDEX (`District`, `Population`)")
            ],
            ["drop prefix", &format!("{table} DROP INDEX `CountryCode`")],
            [
                "drop duplicate",
                &format!("{table} DROP INDEX `TwiceTheSame`")
            ],
        ]
    );
    // The test executes the suggested statements. Then the proxy suggests no more.
    let mut root = server.root();
    for suggestion in &suggested {
        root.run(&suggestion[1]);
    }
    watched.root().run("RESET INDEX_USAGE");
    client.run("SELECT c.Name FROM City c WHERE c.District = 'District 8' AND c.Population > 6");
    plan(&mut look, "%District%", 1);
    wait::until("the indexes are known", wait::SOON, || {
        !look.run("SELECT * FROM unused_indexes").texts().is_empty()
    });
    assert!(
        look.run("SELECT * FROM index_suggestions")
            .texts()
            .is_empty()
    );
    let used = "SELECT column_names FROM indexes WHERE used > 0";
    assert_eq!(look.run(used).texts(), [["District, Population"]]);
}

/// The statements that a server was asked to explain, by its general log.
fn explained_at(server: &Server) -> Vec<String> {
    let sql = "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE argument LIKE 'EXPLAIN%'";
    let rows = server.root().run(sql).texts().into_iter();
    rows.flatten().collect()
}

fn explain_runs_on_replicas_and_executes_no_statement(product: Product) {
    let cluster = Cluster::start_with(product, 1, &["--log-output=TABLE", "--general-log=ON"]);
    make_world(&cluster.primary, "world");
    cluster.wait_caught_up();
    let settings = Settings::of_cluster(&cluster)
        .account("app", PASSWORD)
        .set("workers", 1)
        .set("statement_stats.index_usage", true)
        .set("health.replication_interval", "50ms");
    let watched = Watched::start(settings);
    let mut look = watched.look();
    wait::until("the roles are known", wait::SOON, || {
        let roles =
            "SELECT count(*) FROM backends WHERE role = 'replica' AND replication = 'running'";
        look.run(roles).texts() == [["1"]]
    });
    let mut client = world(&watched, "world");
    client.run("UPDATE City SET Population = Population + 1 WHERE ID = 5");
    client.run("DELETE FROM City WHERE CountryCode = 'C01' ORDER BY ID LIMIT 1");
    client.run("DELETE c FROM City c JOIN Country k ON k.Code = c.CountryCode WHERE k.Name = 'Country 3' AND c.ID < 10");
    client.run("SELECT Name FROM City WHERE ID = 7 FOR UPDATE");
    for (digest, table, key) in [
        ("UPDATE City%", "City", "PRIMARY"),
        ("DELETE FROM City%", "City", "%"),
        ("DELETE c FROM%", "City", "%"),
        ("SELECT Name FROM City%", "City", "PRIMARY"),
    ] {
        let lines = plan(&mut look, digest, 1);
        let line = lines.iter().find(|line| line["table_name"] == table);
        let line = line.unwrap_or_else(|| panic!("{digest}: {lines:?}"));
        assert!(key == "%" || line["key"] == key, "{line:?}");
        assert_eq!(
            (&*line["backend"], &*line["error"]),
            ("replica1", "NULL"),
            "{digest}"
        );
    }
    let at_replica = explained_at(&cluster.replicas[0]);
    assert!(at_replica.len() >= 4, "{at_replica:?}");
    let reads = |text: &String| text.contains(" SELECT ") && !text.contains("FOR UPDATE");
    assert!(at_replica.iter().all(reads), "{at_replica:?}");
    assert!(explained_at(&cluster.primary).is_empty());
    // A digest that was already explained is not explained again.
    let sums = "SELECT (SELECT Population FROM City WHERE ID = 5), COUNT(*) FROM City";
    for server in [&cluster.primary, &cluster.replicas[0]] {
        cluster.wait_caught_up();
        let mut root = server.root();
        root.run("USE world");
        assert_eq!(root.run(sums).texts(), [["5", "1998"]]);
    }
}

fn executions_are_explained_with_their_values(product: Product) {
    let server = Server::shared(product);
    let schema = "index_executions";
    make_world(server, schema);
    let settings = Settings::pooled(server, 4).set("statement_stats.index_usage", true);
    for settings in [settings.clone(), settings.set("routing.lanes", "reads")] {
        let watched = Watched::start(settings);
        let mut look = watched.look();
        let mut client = world(&watched, schema);
        let id = client
            .prepare("SELECT Name FROM City WHERE ID = ?")
            .statement();
        client.execute(&Execute::new(id, &[Param::Int(17)]));
        let id = client
            .prepare("UPDATE City SET Population = ? WHERE ID = ?")
            .statement();
        client.execute(&Execute::new(id, &[Param::Int(1), Param::Int(18)]));
        for digest in ["SELECT Name%", "UPDATE City%"] {
            let lines = plan(&mut look, digest, 1);
            let [line] = &lines[..] else {
                panic!("{lines:?}");
            };
            let told =
                ["table_name", "key", "key_len", "error"].map(|column| line[column].as_str());
            assert_eq!(told, ["City", "PRIMARY", "4", "NULL"], "{line:?}");
        }
    }
}

fn explain_leaves_no_trace_on_the_clients_connection(product: Product) {
    let server = Server::shared(product);
    let schema = "index_unseen";
    make_world(server, schema);
    // All statements are explained on the client's only connection.
    let watched = watched(server, 1);
    let mut look = watched.look();
    let mut client = world(&watched, schema);
    let mut other = world(&watched, schema);
    let explained = |look: &mut RawConn, digest: &str| drop(plan(look, digest, 1));

    client.run(
        "INSERT INTO City (Name, CountryCode, District, Population) VALUES ('New', 'C01', 'x', 1)",
    );
    let id = client.run("SELECT LAST_INSERT_ID()").text(0, 0);
    client.run("SELECT Name FROM City WHERE ID = 3");
    explained(&mut look, "SELECT Name FROM City WHERE ID = ?");
    assert_eq!(client.run("SELECT LAST_INSERT_ID()").text(0, 0), id);

    client.run("SELECT SQL_CALC_FOUND_ROWS Name FROM City WHERE ID < 100 LIMIT 1");
    explained(&mut look, "%SQL_CALC_FOUND_ROWS%");
    other.run("SELECT 1 FROM City WHERE ID = 2");
    assert_eq!(
        client.run("SELECT FOUND_ROWS()").text(0, 0).as_deref(),
        Some("99")
    );

    client.run("UPDATE City SET Population = -1 WHERE ID IN (5, 6, 7)");
    explained(&mut look, "UPDATE City SET Population%");
    assert_eq!(
        client.run("SELECT ROW_COUNT()").text(0, 0).as_deref(),
        Some("3")
    );

    client.run("SELECT Name FROM City WHERE ID = 'x' AND Population = CAST('7y' AS SIGNED)");
    explained(&mut look, "%CAST%");
    let warnings = client.run("SHOW WARNINGS").texts();
    assert!(
        !warnings.is_empty() && warnings.iter().all(|it| it[1] != "1003"),
        "{warnings:?}"
    );

    // EXPLAIN runs without autocommit, and leaves no transaction open for the connection's next session.
    client.run("SET autocommit = 0");
    client.run("SELECT District FROM City WHERE ID = 9");
    client.run("COMMIT");
    explained(&mut look, "SELECT District%");
    other.run("SET TRANSACTION READ ONLY");
    assert_eq!(
        other.run("SELECT @@autocommit").text(0, 0).as_deref(),
        Some("1")
    );
    // EXPLAIN statements are not counted as statements of a client.
    let asked = "SELECT count(*) FROM digests WHERE digest_text LIKE 'EXPLAIN%' OR digest_text LIKE '%STATISTICS%'";
    assert_eq!(look.run(asked).texts(), [["0"]]);
}

fn a_failed_explain_is_counted_and_disturbs_no_session(product: Product) {
    let server = Server::shared(product);
    let schema = "index_refused";
    make_world(server, schema);
    let mut root = server.root();
    for statement in [
        format!(
            "CREATE VIEW {schema}.v AS SELECT ID, Name FROM {schema}.City WHERE Population > 10"
        ),
        "DROP USER IF EXISTS looks_only@'%'".to_owned(),
        format!("CREATE USER looks_only@'%' IDENTIFIED BY '{PASSWORD}'"),
        format!("GRANT SELECT ON {schema}.v TO looks_only@'%'"),
    ] {
        root.run(&statement);
    }
    let settings = Settings::pooled(server, 2)
        .account("looks_only", PASSWORD)
        .set("statement_stats.index_usage", true);
    let watched = Watched::start(settings);
    let mut look = watched.look();
    let login = Login::with("looks_only", PASSWORD).schema(schema);
    let mut client = watched.proxy.connect_as(&login);
    let ask = |client: &mut RawConn| client.run("SELECT Name FROM v WHERE ID = 30").text(0, 0);
    assert_eq!(ask(&mut client).as_deref(), Some("City 29"));
    let lines = plan(&mut look, "SELECT Name FROM v%", 1);
    assert!(lines[0]["error"].contains("1345"), "{lines:?}");
    assert_eq!(lines[0]["line"], "NULL");
    assert_eq!(ask(&mut client).as_deref(), Some("City 29"));
    assert!(look.run("SELECT * FROM index_usage").texts().is_empty());
    // A user with privileges on the view learns which table it reads.
    let mut app = world(&watched, schema);
    app.run("SELECT Name, ID FROM v WHERE ID = 30");
    plan(&mut look, "SELECT Name, ID FROM v%", 1);
    wait::until("the index is known", wait::SOON, || {
        let used = look.run("SELECT name FROM index_usage").texts();
        used == [[format!("{schema}.City.PRIMARY")]]
    });
}

fn index_usage_is_off_by_default_and_can_be_reset(product: Product) {
    let server = Server::shared(product);
    let schema = "index_wanted";
    make_world(server, schema);
    let watched = Watched::start(Settings::pooled(server, 2));
    let mut root = watched.root();
    let mut client = world(&watched, schema);
    let mut ask = || drop(client.run("SELECT Name FROM City WHERE ID = 3"));
    ask();
    assert!(root.run("SELECT * FROM plans").texts().is_empty());
    root.run("SET GLOBAL statement_stats.index_usage = true");
    ask();
    let count = |root: &mut RawConn| root.run("SELECT explained FROM plans").texts();
    plan(&mut root, "SELECT Name%", 1);
    ask();
    assert_eq!(count(&mut root), [["1"]]);
    root.run("RESET INDEX_USAGE");
    assert!(root.run("SELECT * FROM plans").texts().is_empty());
    ask();
    plan(&mut root, "SELECT Name%", 1);
    assert_eq!(refused(&mut watched.look(), "RESET INDEX_USAGE"), 1227);
    root.run("FLUSH STATUS");
    assert!(root.run("SELECT * FROM plans").texts().is_empty());
    root.run("SET GLOBAL statement_stats.index_usage = false");
    ask();
    assert!(root.run("SELECT * FROM plans").texts().is_empty());
}

fn statements_that_are_unsafe_to_explain_are_not_explained(product: Product) {
    let server = Server::shared(product);
    let schema = "index_unsafe";
    make_world(server, schema);
    let mut root = server.root();
    root.run(&format!(
        "CREATE FUNCTION {schema}.f(a INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN \
         REPLACE INTO {schema}.Country VALUES ('NEW', 'New', 'Asia', a); RETURN a; END"
    ));
    let watched = watched(server, 2);
    let mut look = watched.look();
    let mut client = world(&watched, schema);
    client.run("CREATE TEMPORARY TABLE mine (a INT PRIMARY KEY)");
    client.run("SELECT a FROM mine WHERE a = 1");
    client.run("DROP TEMPORARY TABLE mine");
    for statement in [
        "SELECT Name FROM City WHERE ID = f(1)",
        "SELECT Name FROM City WHERE ID = @x",
        "SELECT @x := ID FROM City WHERE ID = 1",
        "SELECT SLEEP(0) FROM City WHERE ID = 1",
        "SELECT GET_LOCK('a', 0) FROM City WHERE ID = 1",
        "SELECT LAST_INSERT_ID(ID) FROM City WHERE ID = 1",
    ] {
        client.run(statement);
    }
    client.run("SELECT RELEASE_LOCK('a')");
    // Statements are explained in order: when the last one is explained, the earlier ones would have been, too.
    client.run("SELECT District FROM City WHERE ID = 4");
    plan(&mut look, "SELECT District%", 1);
    let explained = "SELECT DISTINCT digest_text FROM plans";
    assert_eq!(
        look.run(explained).texts(),
        [["SELECT District FROM City WHERE ID = ?"]]
    );
    let new = "SELECT COUNT(*) FROM Country WHERE Code = 'NEW'";
    assert_eq!(
        client.run(new).text(0, 0).as_deref(),
        Some("1"),
        "f has run once"
    );
}
