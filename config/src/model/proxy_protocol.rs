//! The PROXY protocol, in and out.

use ipnet::IpNet;

use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// The PROXY protocol, with which one proxy tells the next where a client really is.
    pub struct ProxyProtocolConfig in [proxy_protocol], "PROXY protocol" {
        /// Networks whose connections begin with a PROXY header (version 1 or 2). A header from
        /// elsewhere is not believed.
        trusted_networks: Vec<IpNet> = Vec::new(), Traits::RELOAD;

        /// The header with which connections to backends begin. MariaDB wants `proxy_protocol_networks` set.
        send: ProxyProtocolSend = ProxyProtocolSend::Off, Traits::RELOAD;
    }
}

choices! {
    /// The header with which connections to backends begin.
    pub enum ProxyProtocolSend {
        /// No header.
        Off = "off",
        /// A header of version 2 with the client's address.
        V2 = "v2",
    }
}
