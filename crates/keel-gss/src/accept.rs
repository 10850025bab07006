//! The server's side: the keys of a service, and who a client is.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr;

use crate::error::{Error, Result};
use crate::library::{Buffer, Credential, KeyValue, KeyValues, Library, Name, Owned, Security, Status};
use crate::logon::{self, Logon};

/// `GSS_C_ACCEPT`
const ACCEPT: i32 = 2;
/// `GSS_C_INDEFINITE`
const INDEFINITE: u32 = u32::MAX;

/// Takes clients in by the keys of a file (`keytab`). It is read for each of them: keys may be added and changed while the server runs.
#[derive(Clone, Debug)]
pub struct Acceptor {
    keytab: CString,
}

impl Acceptor {
    /// With the keys in this file, which are read once to see that they can be.
    ///
    /// # Errors
    /// When the library is not there, or the file cannot be read or has no keys.
    pub fn new(keytab: &Path) -> Result<Acceptor> {
        let text = [b"FILE:", keytab.as_os_str().as_bytes()].concat();
        let keytab = CString::new(text).map_err(|_| Error::BadPath(PathBuf::from(keytab)))?;
        let acceptor = Acceptor { keytab };
        acceptor.keys(Library::get()?)?;
        Ok(acceptor)
    }

    /// Begins with a client.
    ///
    /// # Errors
    /// When the keys cannot be read any more.
    pub fn begin(&self) -> Result<Acceptance> {
        let library = Library::get()?;
        Ok(Acceptance { library, keys: self.keys(library)?, context: Security::none(library) })
    }

    fn keys(&self, library: &'static Library) -> Result<Credential> {
        const KEYTAB: &CStr = c"keytab";
        let stored = [KeyValue { key: KEYTAB.as_ptr(), value: self.keytab.as_ptr() }];
        let store = KeyValues { count: 1, elements: stored.as_ptr() };
        let mut keys = Credential::none(library);
        let mut minor = 0;
        // SAFETY: all pointers are to variables that outlive the call; without a name and mechanisms the library takes every key of the
        // file and every mechanism.
        let major = unsafe {
            (library.acquire_cred_from)(
                &mut minor,
                ptr::null_mut(),
                INDEFINITE,
                ptr::null(),
                ACCEPT,
                &store,
                keys.as_mut_ptr(),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        library.check(Status { major, minor })?;
        Ok(keys)
    }
}

/// A client whose tokens are being looked at. Belongs to the thread that began it.
pub struct Acceptance {
    library: &'static Library,
    keys: Credential,
    context: Security,
}

/// What comes of a token.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The client is to get this, and to answer.
    Continue(Vec<u8>),
    /// It is known who it is.
    Done(Accepted),
}

/// Who a client is.
#[derive(Debug, PartialEq, Eq)]
pub struct Accepted {
    /// For the client, so that it knows who the server is; may be empty.
    pub token: Vec<u8>,
    /// The client's principal, `name@REALM`, special characters behind backslashes (RFC 1964, 2.1.1).
    pub client: String,
    /// The principal that it called the server by, `MSSQLSvc/host:port@REALM`.
    pub service: String,
    /// What its domain says of it, if that is one that says something.
    pub logon: Option<Logon>,
}

impl Acceptance {
    /// Looks at a token.
    ///
    /// # Errors
    /// When it proves nothing: it is for another service or key, too old, was here before, or is not Kerberos'.
    pub fn step(&mut self, token: &[u8]) -> Result<Step> {
        let library = self.library;
        let mut client = Name::none(library);
        let mut answer = Owned::new(library);
        let mut minor = 0;
        let input = Buffer::of(token);
        // SAFETY: all pointers are to variables that outlive the call; the context is the one of the calls before, or none.
        let major = unsafe {
            (library.accept_sec_context)(
                &mut minor,
                self.context.as_mut_ptr(),
                self.keys.get(),
                &input,
                ptr::null(),
                client.as_mut_ptr(),
                ptr::null_mut(),
                answer.as_mut_ptr(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        let status = Status { major, minor };
        library.check(status)?;
        let token = answer.bytes().to_vec();
        if status.goes_on() {
            return Ok(Step::Continue(token));
        }
        let logon = client.attribute(logon::ATTRIBUTE)?.map(|bytes| Logon::decode(&bytes)).transpose()?;
        let (client, service) = (client.display()?.unwrap_or_default(), self.service()?);
        Ok(Step::Done(Accepted { token, client, service, logon }))
    }

    /// Who the client called.
    fn service(&self) -> Result<String> {
        let mut service = Name::none(self.library);
        let mut minor = 0;
        // SAFETY: a context that is complete; what is not asked for has no pointer.
        let major = unsafe {
            (self.library.inquire_context)(
                &mut minor,
                self.context.get(),
                ptr::null_mut(),
                service.as_mut_ptr(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        self.library.check(Status { major, minor })?;
        Ok(service.display()?.unwrap_or_default())
    }
}
