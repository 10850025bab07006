//! Whom a server must have been certified by: the authorities that the system trusts, and those in a directory of the instance's.

use std::io::{self, ErrorKind};
use std::path::Path;

use rustls::pki_types::CertificateDer;

/// Files of a directory at most, as in the product.
const CERTIFICATES_MAX: usize = 50;

/// All of them. A directory that is not there has none.
///
/// # Errors
/// When the directory or a file in it cannot be read, or is no certificate.
pub fn certificates(directory: Option<&Path>) -> io::Result<Vec<CertificateDer<'static>>> {
    // Errors of the system's are of single files: what could be read is what is trusted.
    let mut all = rustls_native_certs::load_native_certs().certs;
    all.extend(directory.map_or_else(|| Ok(Vec::new()), own_certificates)?);
    Ok(all)
}

fn own_certificates(directory: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let files = match std::fs::read_dir(directory) {
        Ok(files) => files,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut paths = files.map(|file| file.map(|f| f.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let mut found = Vec::new();
    for path in paths.into_iter().filter(|path| path.is_file()).take(CERTIFICATES_MAX) {
        let bytes = std::fs::read(&path)?;
        let pem = rustls_pemfile::certs(&mut &bytes[..]).collect::<io::Result<Vec<_>>>()?;
        if pem.is_empty() {
            found.push(bytes.into());
        } else {
            found.extend(pem);
        }
    }
    Ok(found)
}
