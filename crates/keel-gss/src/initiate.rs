//! The client's side: whose tickets the system has proves to a server who it is.

use std::ptr;

use crate::error::Result;
use crate::library::{Buffer, Library, Name, Owned, SPNEGO, Security, Status};

/// `GSS_C_MUTUAL_FLAG` and `GSS_C_REPLAY_FLAG`: the server proves itself too, and a token counts once.
const FLAGS: u32 = 2 | 4;

/// Makes tokens for a server. Belongs to the thread that made it.
pub struct Initiator {
    library: &'static Library,
    target: Name,
    context: Security,
}

impl Initiator {
    /// For the service of this name: `MSSQLSvc/host:1433`, with or without a realm.
    ///
    /// # Errors
    /// When the library is not there, or the name is none.
    pub fn new(service: &str) -> Result<Initiator> {
        let library = Library::get()?;
        let target = Name::import(library, service)?;
        Ok(Initiator { library, target, context: Security::none(library) })
    }

    /// The first token, or the answer to the server's. Empty when the server needs no more.
    ///
    /// # Errors
    /// When there are no tickets (`kinit`), there is no such service, or the server's token proves nothing.
    pub fn step(&mut self, token: Option<&[u8]>) -> Result<Vec<u8>> {
        let library = self.library;
        let mut answer = Owned::new(library);
        let mut minor = 0;
        let input = token.map(Buffer::of);
        // SAFETY: all pointers are to variables that outlive the call; the context is the one of the calls before, or none; without a
        // credential the library takes the user's.
        let major = unsafe {
            (library.init_sec_context)(
                &mut minor,
                ptr::null_mut(),
                self.context.as_mut_ptr(),
                self.target.get(),
                &SPNEGO,
                FLAGS,
                0,
                ptr::null(),
                input.as_ref().map_or(ptr::null(), ptr::from_ref),
                ptr::null_mut(),
                answer.as_mut_ptr(),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        library.check(Status { major, minor })?;
        Ok(answer.bytes().to_vec())
    }
}
