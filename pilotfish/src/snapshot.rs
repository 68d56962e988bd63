//! From the configuration to the settings that sessions use: prepares TLS, reads files.

use std::path::PathBuf;
use std::sync::Arc;

use config::{BackendTlsMode, ClientCertificate, ClientTlsMode, Config};
use net::tls::{
    ClientCertificates, ClientTls, ClientTlsSettings, Error, Identity, Reload, ServerTls,
    ServerTlsSettings, Verification,
};
use worker::Settings;

/// Makes a snapshot. TLS files are taken from `before` if nothing about them
/// has changed, with the certificate made at start and the session tickets.
///
/// # Errors
/// The error in words, with the name of the faulty file.
pub fn snapshot(config: Arc<Config>, before: Option<&Settings>) -> Result<Settings, String> {
    let same_client_tls = before.filter(|before| before.config.client_tls == config.client_tls);
    let same_backend_tls = before.filter(|before| before.config.backend_tls == config.backend_tls);
    let rules = crate::rules::ready(&config)?;
    if let Some(ca) = &config.tracing.ca {
        // The file is read again with each batch; this only reports a faulty file early.
        crate::telemetry::secured(Some(ca)).map_err(describe)?;
    }
    let client_tls = match same_client_tls {
        Some(before) => before.client_tls.clone(),
        None => client_tls(&config).map_err(describe)?.map(Arc::new),
    };
    let backend_tls = match same_backend_tls {
        Some(before) => before.backend_tls.clone(),
        None => backend_tls(&config).map_err(describe)?.map(Arc::new),
    };
    let password_tls = match same_backend_tls {
        Some(before) => before.password_tls.clone(),
        None => password_tls(&config).map_err(describe)?.map(Arc::new),
    };
    let backend_key = backend_key(&config)?;
    Ok(Settings {
        rules: Arc::new(rules),
        config,
        client_tls,
        backend_tls,
        password_tls,
        backend_key,
    })
}

fn describe(error: Error) -> String {
    error.to_string()
}

fn client_tls(config: &Config) -> Result<Option<ServerTls>, Error> {
    let tls = &config.client_tls;
    if tls.mode == ClientTlsMode::Off {
        return Ok(None);
    }
    let ca = || tls.ca.clone().unwrap_or_default();
    let settings = ServerTlsSettings {
        identity: identity(&tls.certificate, &tls.key),
        client_certificates: match tls.client_certificate {
            ClientCertificate::NotAsked => ClientCertificates::Ignored,
            ClientCertificate::Optional => ClientCertificates::Optional(ca()),
            ClientCertificate::Required => ClientCertificates::Required(ca()),
        },
    };
    ServerTls::new(settings).map(Some)
}

fn backend_tls(config: &Config) -> Result<Option<ClientTls>, Error> {
    let tls = &config.backend_tls;
    let verification = match tls.mode {
        BackendTlsMode::Off => return Ok(None),
        BackendTlsMode::Preferred | BackendTlsMode::Required => Verification::None,
        BackendTlsMode::VerifyCa => Verification::Ca,
        BackendTlsMode::VerifyIdentity => Verification::Identity,
    };
    let identity = identity(&tls.certificate, &tls.key);
    ClientTls::new(ClientTlsSettings {
        verification,
        ca: tls.ca.clone(),
        identity,
    })
    .map(Some)
}

/// TLS for a password that must pass in full, if TLS with backends is otherwise off.
fn password_tls(config: &Config) -> Result<Option<ClientTls>, Error> {
    let tls = &config.backend_tls;
    if tls.mode != BackendTlsMode::Off {
        return Ok(None);
    }
    ClientTls::new(ClientTlsSettings {
        verification: match tls.ca {
            Some(_) => Verification::Ca,
            None => Verification::None,
        },
        ca: tls.ca.clone(),
        identity: identity(&tls.certificate, &tls.key),
    })
    .map(Some)
}

/// The backends' public key.
fn backend_key(config: &Config) -> Result<Option<Arc<[u8]>>, String> {
    let Some(file) = &config.backend_tls.server_public_key else {
        return Ok(None);
    };
    let faulty = |error: &dyn std::fmt::Display| {
        let file = file.display();
        format!("backend_tls.server_public_key: {file}: {error}")
    };
    let pem = std::fs::read(file).map_err(|error| faulty(&error))?;
    auth::key_exchange::check(&pem).map_err(|error| faulty(&error))?;
    Ok(Some(pem.into()))
}

fn identity(certificate: &Option<PathBuf>, key: &Option<PathBuf>) -> Option<Identity> {
    Some(Identity {
        certificate: certificate.clone()?,
        key: key.clone()?,
    })
}

/// Reads certificate files again if they have changed, and logs it.
pub fn reload_certificates(settings: &Settings) {
    let client = settings
        .client_tls
        .as_ref()
        .map(|tls| ("client_tls", tls.reload_if_changed()));
    let backend = settings
        .backend_tls
        .as_ref()
        .map(|tls| ("backend_tls", tls.reload_if_changed()));
    for (section, outcome) in client.into_iter().chain(backend) {
        match outcome {
            Ok(Reload::Unchanged) => {}
            Ok(Reload::Reloaded) => {
                tracing::info!(section, "certificates have changed and are loaded")
            }
            Err(error) => {
                tracing::error!(section, %error, "changed certificates have a fault; the proxy keeps the old ones")
            }
        }
    }
}
