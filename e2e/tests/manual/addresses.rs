//! The addresses of the manual, and the addresses that replace them in a test.

use std::cell::RefCell;

use e2e::{Cluster, free_port};

/// The ports of the manual's proxies.
const PROXY_PORTS: std::ops::RangeInclusive<u16> = 4040..=4099;

/// The network of the manual's servers.
const NETWORK: &str = "10.0.0.";

/// Pairs of an address on the page and a port of 127.0.0.1.
#[derive(Debug)]
pub struct Addresses {
    servers: RefCell<Vec<(String, u16)>>,
    proxies: RefCell<Vec<(u16, u16)>>,
}

impl Addresses {
    /// The primary and its replicas have the first addresses.
    pub fn of(cluster: &Cluster) -> Self {
        let all = std::iter::once(&cluster.primary).chain(&cluster.replicas);
        let named = |(number, server): (u8, &e2e::Server)| {
            (format!("{NETWORK}{number}:3306"), server.port())
        };
        Self {
            servers: RefCell::new((1..).zip(all).map(named).collect()),
            proxies: RefCell::default(),
        }
    }

    /// Replaces the page's addresses in a text by the addresses of this test.
    pub fn to_test(&self, text: &str) -> String {
        let text = text.replace("0.0.0.0:", "127.0.0.1:");
        self.with_proxies(&self.with_servers(&text))
    }

    /// Replaces the addresses of this test in an output by those of the page.
    pub fn to_page(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (server, port) in &*self.servers.borrow() {
            text = text.replace(&format!("127.0.0.1:{port}"), server);
        }
        for (page, port) in &*self.proxies.borrow() {
            text = text.replace(&port.to_string(), &page.to_string());
        }
        text
    }

    /// `10.0.0.1:3306` becomes an address with a port; `-h10.0.0.1` becomes a host and an option for the port.
    fn with_servers(&self, text: &str) -> String {
        let mut parts = text.split(NETWORK);
        let mut done = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = part.split_at(digits);
            let rest = match rest.strip_prefix(":3306") {
                Some(rest) if digits > 0 => {
                    done += &format!("127.0.0.1:{}", self.server(number));
                    rest
                }
                None if done.ends_with("-h") && digits > 0 => {
                    done += &format!("127.0.0.1 -P{}", self.server(number));
                    rest
                }
                _ => {
                    done += NETWORK;
                    part
                }
            };
            done += rest;
        }
        done
    }

    /// The port of a server; a free one if there is no such server.
    fn server(&self, number: &str) -> u16 {
        let page = format!("{NETWORK}{number}:3306");
        let mut servers = self.servers.borrow_mut();
        if let Some((_, port)) = servers.iter().find(|(server, _)| *server == page) {
            return *port;
        }
        let port = free_port();
        servers.push((page, port));
        port
    }

    /// Replaces the ports of the page's proxies by free ports.
    fn with_proxies(&self, text: &str) -> String {
        let mut done = String::new();
        let mut rest = text;
        while let Some(begin) = rest.find(|letter: char| letter.is_ascii_digit()) {
            let digits = &rest[begin..];
            let end = digits.find(|letter: char| !letter.is_ascii_digit());
            let (number, behind) = digits.split_at(end.unwrap_or(digits.len()));
            done += &rest[..begin];
            let port = number.parse().ok();
            match port.filter(|port| PROXY_PORTS.contains(port)) {
                Some(port) => done += &self.proxy(port).to_string(),
                None => done += number,
            }
            rest = behind;
        }
        done + rest
    }

    fn proxy(&self, page: u16) -> u16 {
        let mut proxies = self.proxies.borrow_mut();
        if let Some((_, port)) = proxies.iter().find(|(port, _)| *port == page) {
            return *port;
        }
        let port = free_port();
        proxies.push((page, port));
        port
    }
}
