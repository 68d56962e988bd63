//! The manual's page prints what it says.
