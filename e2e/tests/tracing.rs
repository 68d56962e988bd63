//! Traces: the spans that a collector gets, when the proxy continues a client's trace, and what happens to spans if the
//! collector is missing.

use e2e::collector::{Collector, attribute};
use e2e::raw::{Execute, Login, Param, RawConn, Shape, capability, query_with_attributes};
use e2e::{Certs, PASSWORD, Product, Proxy, Server, Settings, free_port, wait};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

both! {
    a_statement_gives_one_span_with_three_child_spans
    a_sampled_traceparent_of_the_client_continues_its_trace
}

const SCHEMA: &str = "traced";

struct Site {
    proxy: Proxy,
    server: &'static Server,
    admin: u16,
}

impl Site {
    fn start(product: Product, endpoint: &str, more: impl FnOnce(Settings) -> Settings) -> Self {
        let server = Server::shared(product);
        let mut root = server.root();
        root.run(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"));
        root.run(&format!(
            "CREATE TABLE IF NOT EXISTS {SCHEMA}.t (n INT PRIMARY KEY, v VARCHAR(20))"
        ));
        root.run(&format!(
            "REPLACE INTO {SCHEMA}.t VALUES (1, 'one'), (2, 'two')"
        ));
        let admin = free_port();
        let settings = Settings::in_front_of([server])
            .account("app", PASSWORD)
            .set("workers", 1)
            .set("routing.session", "statement")
            .set("tracing.endpoint", endpoint)
            .set("tracing.sample_one_in", 1)
            // A request without a timely answer is sent again, and would arrive twice.
            .set("tracing.timeout", "30s")
            .admin_on(admin);
        let proxy = Proxy::start(&more(settings));
        Self {
            proxy,
            server,
            admin,
        }
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema(SCHEMA))
    }

    fn root(&self) -> RawConn {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], self.admin));
        RawConn::connect(&address.into(), &Login::with("root", "all")).unwrap()
    }

    /// The number of spans that were sent, or dropped for this reason.
    fn count(&self, reason: &str) -> u64 {
        let sql = format!("SELECT spans FROM tracing WHERE reason = '{reason}'");
        self.root().value(&sql).parse().unwrap()
    }
}

/// The spans of whole statements, each with its child spans.
fn statements(spans: &[Span]) -> Vec<(&Span, Vec<&Span>)> {
    let is_whole = |it: &&Span| it.kind() == SpanKind::Client;
    let within = |whole: &Span| -> Vec<&Span> {
        let is_within =
            |it: &&Span| it.parent_span_id == whole.span_id && it.trace_id == whole.trace_id;
        spans.iter().filter(is_within).collect()
    };
    let wholes = spans.iter().filter(is_whole);
    wholes.map(|whole| (whole, within(whole))).collect()
}

fn a_statement_gives_one_span_with_three_child_spans(product: Product) {
    let collector = Collector::start();
    let site = Site::start(product, &collector.endpoint(), |settings| settings);
    let mut client = site.client();
    client.run("SELECT v FROM t WHERE n = 1");
    let id = client.value("SELECT CONNECTION_ID()");
    let prepared = client.prepare("UPDATE t SET v = ? WHERE n = 2");
    let execute = Execute::new(prepared.statement(), &[Param::Text("secret")]);
    assert!(client.execute(&execute).error().is_none());
    assert_eq!(
        client
            .query("SELECT 'secret' FROM nowhere")
            .error()
            .unwrap()
            .code,
        1146
    );
    let spans = collector.wait_for(16);
    assert_eq!(spans.len(), 16, "{spans:?}");
    let told = statements(&spans);
    assert_eq!(told.len(), 4);
    let (whole, parts) = &told[0];
    assert_eq!(whole.name, "SELECT t");
    assert_eq!((whole.trace_id.len(), whole.span_id.len()), (16, 8));
    assert!(whole.parent_span_id.is_empty());
    let system = match product {
        Product::MySql => "mysql",
        _ => "mariadb",
    };
    let address = site.server.tcp();
    for (key, expected) in [
        ("db.system.name", system),
        ("db.namespace", SCHEMA),
        ("db.query.text", "SELECT v FROM t WHERE n = ?"),
        ("db.query.summary", "SELECT t"),
        ("db.operation.name", "SELECT"),
        ("db.collection.name", "t"),
        ("db.response.returned_rows", "1"),
        ("server.address", "127.0.0.1"),
        ("server.port", &address.port().to_string()),
        ("pilotfish.backend", &address.to_string()),
        ("pilotfish.session", &id),
        ("error.type", ""),
    ] {
        assert_eq!(attribute(whole, key), expected, "{key}");
    }
    assert_eq!(whole.status, None);
    // The parts follow one another, and together last as long as the whole.
    let names: Vec<_> = parts.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["wait", "backend", "reply"]);
    let mut at = whole.start_time_unix_nano;
    for part in parts {
        assert_eq!(part.start_time_unix_nano, at, "{}", part.name);
        at = part.end_time_unix_nano;
    }
    assert_eq!(at, whole.end_time_unix_nano);
    assert!(whole.start_time_unix_nano < whole.end_time_unix_nano);
    let now = std::time::SystemTime::now();
    let now = now
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    let age = now - u128::from(whole.end_time_unix_nano);
    assert!(age < 600_000_000_000, "{age}");
    // Other statements are there, and no value of any.
    assert_eq!(told[2].0.name, "UPDATE t");
    let failed = told[3].0;
    assert_eq!(attribute(failed, "error.type"), "1146");
    assert_eq!(attribute(failed, "db.response.status_code"), "1146");
    let status = failed.status.clone().unwrap();
    assert_eq!(status.code(), StatusCode::Error);
    assert!(status.message.contains("nowhere"), "{}", status.message);
    assert!(!format!("{spans:?}").contains("secret"));
    let ids: std::collections::HashSet<_> = spans.iter().map(|it| &it.span_id).collect();
    assert_eq!(ids.len(), 16);
    let traces: std::collections::HashSet<_> = spans.iter().map(|it| &it.trace_id).collect();
    assert_eq!(traces.len(), 4);
    assert!(collector.services().iter().all(|it| it == "pilotfish"));
    let request = &collector.requests()[0];
    assert!(
        request.starts_with("post /v1/traces http/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("content-type: application/x-protobuf"),
        "{request}"
    );
    wait::until("it is counted", wait::SOON, || site.count("") == 16);
    site.proxy.assert_sound();
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn parent(span: &str, flags: &str) -> String {
    format!("00-{TRACE}-{span}-{flags}")
}

fn a_sampled_traceparent_of_the_client_continues_its_trace(product: Product) {
    let collector = Collector::start();
    let site = Site::start(product, &collector.endpoint(), |settings| {
        settings.set("tracing.sample_one_in", 0)
    });
    let login = Login::app()
        .schema(SCHEMA)
        .and(capability::QUERY_ATTRIBUTES);
    let mut client = site.proxy.connect_as(&login);
    client.run("SELECT 1");
    let (sampled, unsampled) = (
        parent("00000000000000a1", "01"),
        parent("00000000000000a2", "00"),
    );
    client.run(&format!(
        "SELECT 2 /*action='x',traceparent='{unsampled}'*/"
    ));
    client.run(&format!(
        "SELECT 3, 3 /*action='x',traceparent='{sampled}'*/"
    ));
    let mut expected = vec![("SELECT ?, ...".to_owned(), 0xA1)];
    if client.can(capability::QUERY_ATTRIBUTES) {
        let (in_query, in_execute) = (
            parent("00000000000000a3", "01"),
            parent("00000000000000a4", "01"),
        );
        let attribute = ("traceparent", Param::Text(&in_query));
        client.send(&query_with_attributes(&[attribute], "SELECT v FROM t"));
        assert_eq!(client.reply(Shape::Results).texts().len(), 2);
        expected.push(("SELECT v FROM t".to_owned(), 0xA3));
        let prepared = client.prepare("SELECT n FROM t WHERE n = ?");
        let execute = Execute::new(prepared.statement(), &[Param::Int(1)]);
        let execute = execute.attribute("traceparent", Param::Text(&in_execute));
        assert!(client.execute(&execute).error().is_none());
        expected.push(("SELECT n FROM t WHERE n = ?".to_owned(), 0xA4));
    }
    let spans = collector.wait_for(4 * expected.len());
    let told: Vec<_> = statements(&spans)
        .into_iter()
        .map(|(whole, parts)| {
            let hexadecimal: String = whole
                .trace_id
                .iter()
                .map(|it| format!("{it:02x}"))
                .collect();
            assert_eq!((&*hexadecimal, parts.len()), (TRACE, 3));
            (attribute(whole, "db.query.text"), whole.parent_span_id[7])
        })
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn spans_have_values_with_include_values() {
    let collector = Collector::start();
    let site = Site::start(Product::MariaDb, &collector.endpoint(), |settings| {
        settings
            .set("tracing.include_values", true)
            .set("tracing.service", "shop")
            .set("tracing.header", "api-key: of the shop")
    });
    site.client().run("SELECT v FROM t WHERE v = 'told'");
    let spans = collector.wait_for(4);
    let text = attribute(statements(&spans)[0].0, "db.query.text");
    assert_eq!(text, "SELECT v FROM t WHERE v = 'told'");
    assert_eq!(collector.services(), ["shop"]);
    let heads = collector.requests();
    assert!(
        heads[0].contains("\r\napi-key: of the shop\r\n"),
        "{heads:?}"
    );
}

#[test]
fn a_missing_collector_is_logged_and_loses_only_spans() {
    let port = free_port();
    let endpoint = format!("http://127.0.0.1:{port}");
    let site = Site::start(Product::MariaDb, &endpoint, |settings| settings);
    let mut client = site.client();
    client.run("SELECT 1");
    wait::until("it is told", wait::SOON, || site.count("unreachable") == 4);
    let event = "SELECT text FROM events WHERE kind = 'traces' ORDER BY id DESC LIMIT 1";
    wait::until("an event tells it", wait::SOON, || {
        let told = site.root().value(event);
        told.starts_with("spans cannot be sent")
    });
    let trouble = "SELECT trouble FROM tracing LIMIT 1";
    assert!(!site.root().value(trouble).is_empty());
    let collector = Collector::on(port);
    client.run("SELECT 2");
    collector.wait_for(4);
    wait::until("it is told", wait::SOON, || {
        site.root().value(event) == "spans are sent again"
    });
    // A collector that refuses the spans.
    collector.answer_with(400);
    client.run("SELECT 3");
    wait::until("it is told", wait::SOON, || site.count("refused") == 4);
    wait::until("it is told why", wait::SOON, || {
        site.root().value(trouble).contains("400")
    });
    // Tracing is switched off while the proxy runs.
    site.root()
        .run("UPDATE settings SET value = '' WHERE name = 'tracing.endpoint'");
    collector.answer_with(200);
    // Spans are sent in the order of their statements. If a later statement's span has arrived, a missing span was not
    // sent. A worker may take a moment to notice the change of the settings.
    let other = Collector::start();
    let set_endpoint = |endpoint: &str| {
        site.root().run(&format!(
            "UPDATE settings SET value = '{endpoint}' WHERE name = 'tracing.endpoint'"
        ));
    };
    let count = |text: &str| {
        let spans = [collector.spans(), other.spans()].concat();
        let whole = statements(&spans).into_iter().map(|(span, _)| span);
        whole
            .filter(|span| attribute(span, "db.query.text") == text)
            .count()
    };
    let mut round = 0;
    wait::until("nothing is sent any more", wait::SOON, || {
        round += 1;
        let before = count("DO ?");
        client.run("DO 4");
        set_endpoint(&other.endpoint());
        let behind = format!("SELECT ? AS behind{round}");
        wait::until("spans are sent there", wait::SOON, || {
            client.run(&behind.replace('?', "5"));
            count(&behind) > 0
        });
        set_endpoint("");
        count("DO ?") == before
    });
    site.proxy.assert_sound();
}

#[test]
fn a_collector_that_does_not_answer_delays_no_statement() {
    let collector = Collector::start();
    collector.fall_silent();
    let site = Site::start(Product::MariaDb, &collector.endpoint(), |settings| settings);
    let mut client = site.client();
    // More spans than the queue holds, while the first of them are being sent.
    for _ in 0..5200 {
        client.run("DO 1");
    }
    assert!(site.count("queue_full") > 0);
    assert_eq!(site.count(""), 0);
    assert!(collector.spans().is_empty());
    site.proxy.assert_sound();
}

#[test]
fn spans_are_sent_over_tls_with_a_configured_authority() {
    let certs = Certs::shared();
    let collector = Collector::secured(&certs.server);
    let site = Site::start(Product::MariaDb, &collector.endpoint(), |settings| {
        settings.set("tracing.ca", &certs.ca)
    });
    site.client().run("SELECT v FROM t WHERE n = 1");
    let spans = collector.wait_for(4);
    let text = attribute(statements(&spans)[0].0, "db.query.text");
    assert_eq!(text, "SELECT v FROM t WHERE n = ?");
    wait::until("it is counted", wait::SOON, || site.count("") == 4);
}

#[test]
fn an_untrusted_collector_gets_no_spans() {
    let certs = Certs::shared();
    for (identity, ca, expected) in [
        // The system's authorities have not signed this certificate.
        (&certs.server, None, "not signed by a trusted authority"),
        (
            &certs.server,
            Some(&certs.foreign_ca),
            "not signed by a trusted authority",
        ),
        (
            &certs.elsewhere,
            Some(&certs.ca),
            "is not for 127.0.0.1, but for db.example",
        ),
    ] {
        let collector = Collector::secured(identity);
        let site = Site::start(
            Product::MariaDb,
            &collector.endpoint(),
            |settings| match ca {
                Some(ca) => settings.set("tracing.ca", ca),
                None => settings,
            },
        );
        site.client().run("SELECT 1");
        wait::until("it is told", wait::SOON, || site.count("unreachable") == 4);
        site.proxy.wait_event("traces_failed", &["TLS", expected]);
        assert!(collector.requests().is_empty());
        site.proxy.assert_sound();
    }
}

#[test]
fn an_authority_that_cannot_be_read_or_is_not_needed_is_refused() {
    let site = Site::start(Product::MariaDb, "https://127.0.0.1:1", |settings| settings);
    let mut root = site.root();
    for (sql, expected) in [
        (
            "SET GLOBAL tracing.ca = '/nowhere/ca.pem'",
            "/nowhere/ca.pem",
        ),
        (
            "SET GLOBAL tracing.endpoint = 'http://127.0.0.1:1', GLOBAL tracing.ca = '/nowhere/ca.pem'",
            "is for an endpoint that begins with https://",
        ),
    ] {
        let reply = root.query(sql);
        let error = reply.error().unwrap_or_else(|| panic!("{sql} is answered"));
        assert!(error.text.contains(expected), "{}", error.text);
    }
}
