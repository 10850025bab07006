//! The functions of `libgssapi_krb5.so.2`, as RFC 2744 declares them, and the memory that it hands out.
//!
//! Everything that can go wrong with pointers is in this file and in the three callers of these functions. What the library allocates
//! is given back by the type that holds it: [`Owned`], [`Name`], [`Credential`], [`Security`].

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// File of the library. Its number changes when its binary interface does.
const FILE: &str = "libgssapi_krb5.so.2";

/// What two numbers a call returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    pub major: u32,
    pub minor: u32,
}

impl Status {
    /// Errors of the call and of the routine are in the upper half (RFC 2744, 3.9.1).
    pub fn is_error(self) -> bool {
        self.major & 0xFFFF_0000 != 0
    }

    /// `GSS_S_FAILURE`
    pub fn is_unspecified(self) -> bool {
        self.major & 0x00FF_0000 == 13 << 16
    }

    /// `GSS_S_UNAVAILABLE`
    pub fn is_unavailable(self) -> bool {
        self.major & 0x00FF_0000 == 16 << 16
    }

    /// `GSS_S_CONTINUE_NEEDED`
    pub fn goes_on(self) -> bool {
        self.major & 1 != 0
    }
}

/// `gss_OID_desc`
#[repr(C)]
pub(crate) struct Oid {
    length: u32,
    elements: *mut c_void,
}

// SAFETY: the ones made here point to constants; nobody writes to them.
unsafe impl Sync for Oid {}
// SAFETY: as above.
unsafe impl Send for Oid {}

impl Oid {
    const fn new(der: &'static [u8]) -> Oid {
        Oid { length: der.len() as u32, elements: der.as_ptr().cast_mut().cast() }
    }

    /// Where the library's default is meant.
    pub fn none() -> *const Oid {
        ptr::null()
    }
}

/// SPNEGO, 1.3.6.1.5.5.2 (RFC 4178).
pub(crate) static SPNEGO: Oid = Oid::new(&[0x2B, 6, 1, 5, 5, 2]);
/// `GSS_KRB5_NT_PRINCIPAL_NAME`, 1.2.840.113554.1.2.2.1: a name as Kerberos writes it (RFC 1964, 2.1.1).
pub(crate) static PRINCIPAL_NAME: Oid =
    Oid::new(&[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02, 0x01]);

/// `gss_buffer_desc`
#[repr(C)]
pub(crate) struct Buffer {
    length: usize,
    value: *mut c_void,
}

impl Buffer {
    /// For the library to read; it does not write to its input.
    pub fn of(bytes: &[u8]) -> Buffer {
        Buffer { length: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
    }
}

/// `gss_key_value_element_desc`
#[repr(C)]
pub(crate) struct KeyValue {
    pub key: *const c_char,
    pub value: *const c_char,
}

/// `gss_key_value_set_desc`
#[repr(C)]
pub(crate) struct KeyValues {
    pub count: u32,
    pub elements: *const KeyValue,
}

/// A handle of the library's: `gss_name_t`, `gss_cred_id_t`, `gss_ctx_id_t`.
pub(crate) type Handle = *mut c_void;

type Minor = *mut u32;

/// The library, for as long as the process lives.
pub(crate) struct Library {
    pub acquire_cred_from: unsafe extern "C" fn(
        Minor,
        Handle,
        u32,
        *const c_void,
        c_int,
        *const KeyValues,
        *mut Handle,
        *mut c_void,
        *mut u32,
    ) -> u32,
    pub accept_sec_context: unsafe extern "C" fn(
        Minor,
        *mut Handle,
        Handle,
        *const Buffer,
        *const c_void,
        *mut Handle,
        *mut *mut Oid,
        *mut Buffer,
        *mut u32,
        *mut u32,
        *mut Handle,
    ) -> u32,
    pub init_sec_context: unsafe extern "C" fn(
        Minor,
        Handle,
        *mut Handle,
        Handle,
        *const Oid,
        u32,
        u32,
        *const c_void,
        *const Buffer,
        *mut *mut Oid,
        *mut Buffer,
        *mut u32,
        *mut u32,
    ) -> u32,
    pub inquire_context: unsafe extern "C" fn(
        Minor,
        Handle,
        *mut Handle,
        *mut Handle,
        *mut u32,
        *mut *mut Oid,
        *mut u32,
        *mut c_int,
        *mut c_int,
    ) -> u32,
    pub import_name: unsafe extern "C" fn(Minor, *const Buffer, *const Oid, *mut Handle) -> u32,
    pub display_name: unsafe extern "C" fn(Minor, Handle, *mut Buffer, *mut *mut Oid) -> u32,
    pub display_status: unsafe extern "C" fn(Minor, u32, c_int, *const Oid, *mut u32, *mut Buffer) -> u32,
    get_name_attribute: unsafe extern "C" fn(
        Minor,
        Handle,
        *const Buffer,
        *mut c_int,
        *mut c_int,
        *mut Buffer,
        *mut Buffer,
        *mut c_int,
    ) -> u32,
    release_name: unsafe extern "C" fn(Minor, *mut Handle) -> u32,
    release_cred: unsafe extern "C" fn(Minor, *mut Handle) -> u32,
    release_buffer: unsafe extern "C" fn(Minor, *mut Buffer) -> u32,
    delete_sec_context: unsafe extern "C" fn(Minor, *mut Handle, *mut Buffer) -> u32,
    /// Keeps the functions where they are.
    _file: libloading::Library,
}

impl Library {
    /// The library; loaded by who asks first.
    pub fn get() -> Result<&'static Library> {
        static LOADED: OnceLock<std::result::Result<Library, String>> = OnceLock::new();
        let loaded = LOADED.get_or_init(|| Library::load().map_err(|e| e.to_string()));
        loaded.as_ref().map_err(|why| Error::Unavailable { name: FILE, why: why.clone() })
    }

    fn load() -> std::result::Result<Library, libloading::Error> {
        // SAFETY: a library of the system, whose initialization asks for nothing; the functions' types are those of RFC 2744, RFC 6680 and, of
        // `gss_acquire_cred_from`, of MIT's gssapi_ext.h, and the library outlives the functions.
        unsafe {
            let file = libloading::Library::new(FILE)?;
            Ok(Library {
                acquire_cred_from: *file.get(b"gss_acquire_cred_from\0")?,
                accept_sec_context: *file.get(b"gss_accept_sec_context\0")?,
                init_sec_context: *file.get(b"gss_init_sec_context\0")?,
                inquire_context: *file.get(b"gss_inquire_context\0")?,
                import_name: *file.get(b"gss_import_name\0")?,
                display_name: *file.get(b"gss_display_name\0")?,
                display_status: *file.get(b"gss_display_status\0")?,
                get_name_attribute: *file.get(b"gss_get_name_attribute\0")?,
                release_name: *file.get(b"gss_release_name\0")?,
                release_cred: *file.get(b"gss_release_cred\0")?,
                release_buffer: *file.get(b"gss_release_buffer\0")?,
                delete_sec_context: *file.get(b"gss_delete_sec_context\0")?,
                _file: file,
            })
        }
    }
}

/// Bytes that the library has allocated.
pub(crate) struct Owned<'a> {
    library: &'a Library,
    buffer: Buffer,
}

impl<'a> Owned<'a> {
    pub fn new(library: &'a Library) -> Owned<'a> {
        Owned { library, buffer: Buffer { length: 0, value: ptr::null_mut() } }
    }

    /// For a call that fills it, once.
    pub fn as_mut_ptr(&mut self) -> *mut Buffer {
        &mut self.buffer
    }

    pub fn bytes(&self) -> &[u8] {
        if self.buffer.value.is_null() {
            return &[];
        }
        // SAFETY: the library filled it with so many bytes, which are its own until they are released.
        unsafe { std::slice::from_raw_parts(self.buffer.value.cast(), self.buffer.length) }
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: a buffer that the library filled, or an empty one, which it passes over.
        unsafe { (self.library.release_buffer)(&mut minor, &mut self.buffer) };
    }
}

/// A handle that is released with the function of its kind.
macro_rules! handle {
    ($(#[$about:meta])* $name:ident, |$library:ident, $minor:ident, $handle:ident| $release:expr) => {
        $(#[$about])*
        pub(crate) struct $name {
            library: &'static Library,
            handle: Handle,
        }

        impl $name {
            /// None yet: for a call that makes it.
            pub fn none(library: &'static Library) -> $name {
                $name { library, handle: ptr::null_mut() }
            }

            /// The handle, for a call that reads it.
            pub fn get(&self) -> Handle {
                self.handle
            }

            /// Where a call puts it.
            pub fn as_mut_ptr(&mut self) -> *mut Handle {
                &mut self.handle
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                if self.handle.is_null() {
                    return;
                }
                let ($library, mut minor, $handle) = (self.library, 0, &mut self.handle);
                let $minor: Minor = &mut minor;
                // SAFETY: a handle that the library made and nobody has released.
                unsafe { $release };
            }
        }
    };
}

handle!(
    /// `gss_name_t`
    Name, |library, minor, handle| (library.release_name)(minor, handle)
);
handle!(
    /// `gss_cred_id_t`
    Credential, |library, minor, handle| (library.release_cred)(minor, handle)
);
handle!(
    /// `gss_ctx_id_t`
    Security, |library, minor, handle| (library.delete_sec_context)(minor, handle, ptr::null_mut())
);

impl Name {
    /// A name as Kerberos writes it: `MSSQLSvc/host:1433@REALM`; without a realm the library finds one.
    pub fn import(library: &'static Library, text: &str) -> Result<Name> {
        let mut name = Name::none(library);
        let mut minor = 0;
        // SAFETY: all pointers are to variables that outlive the call.
        let major = unsafe {
            let text = Buffer::of(text.as_bytes());
            (library.import_name)(&mut minor, &text, &PRINCIPAL_NAME, name.as_mut_ptr())
        };
        library.check(Status { major, minor })?;
        Ok(name)
    }

    /// As Kerberos writes it; `None` for none at all.
    pub fn display(&self) -> Result<Option<String>> {
        if self.handle.is_null() {
            return Ok(None);
        }
        let mut text = Owned::new(self.library);
        let mut minor = 0;
        // SAFETY: a name that the library made; the buffer is filled once.
        let major = unsafe {
            (self.library.display_name)(&mut minor, self.handle, text.as_mut_ptr(), ptr::null_mut())
        };
        self.library.check(Status { major, minor })?;
        Ok(Some(String::from_utf8_lossy(text.bytes()).into_owned()))
    }

    /// An attribute of a name that a client has proved to have (RFC 6680, 7.5), if its ticket has it.
    ///
    /// # Errors
    /// When it has, and nobody has signed it.
    pub fn attribute(&self, attribute: &str) -> Result<Option<Vec<u8>>> {
        let (mut value, mut shown) = (Owned::new(self.library), Owned::new(self.library));
        let (mut authenticated, mut complete, mut more, mut minor) = (0, 0, -1, 0);
        // SAFETY: a name that the library made; all pointers are to variables that outlive the call, and the buffers are filled once.
        let major = unsafe {
            (self.library.get_name_attribute)(
                &mut minor,
                self.handle,
                &Buffer::of(attribute.as_bytes()),
                &mut authenticated,
                &mut complete,
                value.as_mut_ptr(),
                shown.as_mut_ptr(),
                &mut more,
            )
        };
        let status = Status { major, minor };
        if status.is_unavailable() {
            return Ok(None);
        }
        self.library.check(status)?;
        if authenticated == 0 { Err(Error::BadLogon) } else { Ok(Some(value.bytes().to_vec())) }
    }
}
