//! proxy_protocol
