//! The server's certificate: the one configured, or a self-signed one made at first start and kept.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// TLS settings for the ways clients start it.
pub struct TlsConfigs {
    /// 7.x: handshake inside pre-login packets; no application protocol. TLS 1.2 only, as the product: the last flight of
    /// a 1.3 handshake comes in ways that clients of 7.x were never tried with.
    pub wrapped: Arc<ServerConfig>,
    /// 8.0: TLS first, application protocol `tds/8.0`.
    pub strict: Arc<ServerConfig>,
    /// Of the dashboard, application protocol `http/1.1`.
    pub https: Arc<ServerConfig>,
}

/// Where certificate and key are.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// PEM certificate chain.
    pub certificate: PathBuf,
    /// PEM private key.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// The server's own, in its data directory.
    #[must_use]
    pub fn own(data_dir: &Path) -> CertificateFiles {
        let dir = data_dir.join("tls");
        CertificateFiles { certificate: dir.join("server.crt"), key: dir.join("server.key") }
    }

    /// Makes a self-signed pair unless it is there. The key is readable by the owner only.
    pub fn ensure(&self, host_name: &str) -> Result<()> {
        match (self.certificate.exists(), self.key.exists()) {
            (true, true) => return Ok(()),
            (false, false) => {}
            _ => bail!("only one of {} and {} is there", self.certificate.display(), self.key.display()),
        }
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        if !names.iter().any(|n| n.eq_ignore_ascii_case(host_name)) {
            names.push(host_name.to_owned());
        }
        let made = rcgen::generate_simple_self_signed(names).context("cannot make a certificate")?;
        if let Some(dir) = self.key.parent() {
            fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        write_private(&self.key, made.signing_key.serialize_pem().as_bytes())?;
        fs::write(&self.certificate, made.cert.pem())
            .with_context(|| format!("cannot write {}", self.certificate.display()))?;
        Ok(())
    }

    /// Reads the pair into TLS settings.
    pub fn load(&self) -> Result<TlsConfigs> {
        let chain = read(&self.certificate)?;
        let chain: Vec<CertificateDer<'static>> = rustls_pemfile::certs(&mut &chain[..])
            .collect::<std::result::Result<_, _>>()
            .with_context(|| format!("{} is not a certificate", self.certificate.display()))?;
        let key = read(&self.key)?;
        let key = rustls_pemfile::private_key(&mut &key[..])
            .ok()
            .flatten()
            .with_context(|| format!("{} holds no private key", self.key.display()))?;
        Ok(TlsConfigs {
            wrapped: config(chain.clone(), key.clone_key(), None, &[&rustls::version::TLS12])?,
            strict: config(chain.clone(), key.clone_key(), Some(b"tds/8.0"), rustls::ALL_VERSIONS)?,
            https: config(chain, key, Some(b"http/1.1"), rustls::ALL_VERSIONS)?,
        })
    }
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    protocol: Option<&[u8]>,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> Result<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate and its key do not fit")?;
    // See the chapter of `keel_tds::wire`: nothing may be sent before the client's login is answered.
    config.send_tls13_tickets = 0;
    config.alpn_protocols = protocol.map(<[u8]>::to_vec).into_iter().collect();
    Ok(Arc::new(config))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot create {}", path.display()))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn is_made_once_and_kept_private() {
        let dir = std::env::temp_dir().join(format!("keel-certificate-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a temporary directory");
        let files = CertificateFiles::own(&dir);
        files.ensure("host").expect("made");
        let first = fs::read(&files.certificate).expect("there");
        files.ensure("host").expect("kept");
        assert_eq!(fs::read(&files.certificate).expect("there"), first);
        let mode = fs::metadata(&files.key).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        files.load().expect("valid");
        fs::remove_dir_all(&dir).expect("ours");
    }
}
