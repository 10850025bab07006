//! TLS 1.3 with a certificate on both sides.
//!
//! During the handshake each side proves that it holds the key of the certificate it shows; whether that certificate is
//! *trusted* is decided right after it by [`crate::handshake`], where there is a way to say no with a reason.

use crate::error::ConnectError;
use crate::identity::{Certificate, Fingerprint};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, DistinguishedName, Error,
    ServerConfig, ServerConnection, SignatureScheme,
};
use std::sync::Arc;

/// TLS settings of this instance for both directions.
#[derive(Clone)]
pub struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    fingerprint: Fingerprint,
}

/// The name in the client's greeting: certificates are pinned, so it means nothing.
const SERVER_NAME: &str = "keel";

impl Tls {
    /// With the certificate this instance shows.
    pub fn new(own: &Certificate) -> Result<Tls, ConnectError> {
        let bad = |e: Error| ConnectError::Tls(e.to_string());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let possession = Arc::new(Possession(Arc::clone(&provider)));
        let versions = &[&rustls::version::TLS13];
        let chain = vec![CertificateDer::from(own.certificate.clone())];
        let key = || PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.key.clone()));
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(bad)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&possession) as _)
            .with_client_auth_cert(chain.clone(), key())
            .map_err(bad)?;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(bad)?
            .with_client_cert_verifier(possession)
            .with_single_cert(chain, key())
            .map_err(bad)?;
        // Sessions live for days; resuming them is not worth bytes after each handshake.
        server.send_tls13_tickets = 0;
        Ok(Tls { client: Arc::new(client), server: Arc::new(server), fingerprint: own.fingerprint() })
    }

    /// Of the certificate this instance shows.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// A connection not yet shaken hands on.
    pub(crate) fn start(&self, dialing: bool) -> Result<Connection, ConnectError> {
        let bad = |e: Error| ConnectError::Tls(e.to_string());
        let mut tls: Connection = if dialing {
            let name = ServerName::try_from(SERVER_NAME).expect("a valid name");
            ClientConnection::new(Arc::clone(&self.client), name).map_err(bad)?.into()
        } else {
            ServerConnection::new(Arc::clone(&self.server)).map_err(bad)?.into()
        };
        // What waits to be sent is bounded by credit, and by the sender writing it out at once.
        tls.set_buffer_limit(None);
        Ok(tls)
    }
}

/// Whose certificate the other side has shown and proved to hold.
pub(crate) fn peer_fingerprint(tls: &Connection) -> Option<Fingerprint> {
    tls.peer_certificates().and_then(|chain| chain.first()).map(|c| Fingerprint::of(c))
}

/// Checks signatures, nothing else.
#[derive(Debug)]
struct Possession(Arc<CryptoProvider>);

impl Possession {
    fn check(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn only_tls13() -> Error {
    Error::General("only TLS 1.3 is spoken".into())
}

impl ServerCertVerifier for Possession {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(only_tls13())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Possession {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(only_tls13())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}
