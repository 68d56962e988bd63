//! The choice against literals, against a naive model, and its shares over many draws.
