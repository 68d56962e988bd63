//! The HTTP port: access, requests, and that the answers are correct.

use e2e::http::{Answer, Http};
use e2e::{Product, Proxy, Server, Settings, free_port};
use serde_json::Value;

mod actions;
mod callers;
mod expressions;
mod hostile;
mod manual;
mod metrics;
mod otlp_metrics;
mod shipped;
mod tables;

/// `root:all`
const ROOT: &str = "cm9vdDphbGw=";
/// `look:some`
const LOOK: &str = "bG9vazpzb21l";

/// A proxy with its HTTP port.
struct Watched {
    proxy: Proxy,
    port: u16,
}

impl Watched {
    fn start(settings: Settings) -> Self {
        let port = free_port();
        let proxy = Proxy::start(&settings.http_on(port));
        Self { proxy, port }
    }

    /// With the admin port as well: to change settings, the proxy needs an admin port at the next start.
    fn with_admin_port(settings: Settings) -> Self {
        let (port, admin) = (free_port(), format!("127.0.0.1:{}", free_port()));
        let settings = settings
            .http_on(port)
            .set("admin.address", [admin.as_str()]);
        let proxy = Proxy::start(&settings);
        Self { proxy, port }
    }

    /// In front of the shared server, two workers, sessions pooled.
    fn pooled(product: Product) -> Self {
        let settings = Settings::pooled(Server::shared(product), 4);
        Self::start(settings.set("workers", 2))
    }

    /// Like `pooled`, with the admin port as well.
    fn pooled_with_admin_port(product: Product) -> Self {
        let settings = Settings::pooled(Server::shared(product), 4);
        Self::with_admin_port(settings.set("workers", 2))
    }

    /// A proxy whose backend does not answer.
    fn alone() -> Self {
        Self::start(unserved())
    }

    /// A client without a login.
    fn stranger(&self) -> Http {
        Http::new(self.port)
    }

    fn root(&self) -> Http {
        self.stranger().basic(ROOT)
    }

    fn look(&self) -> Http {
        self.stranger().basic(LOOK)
    }
}

/// Settings with a backend that does not answer.
fn unserved() -> Settings {
    Settings::default().backend(format!("127.0.0.1:{}", free_port()))
}

/// The rows of a table.
#[track_caller]
fn rows(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let json = answer.json();
    json["rows"].as_array().expect("it has rows").clone()
}
