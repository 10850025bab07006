//! # Event notifications: a service is told of events
//!
//! ```text
//!   definition changed ─► Event ─► triggers, then the notifications ─► message in the statement's transaction
//!   login, deadlock, blocked process, queue ─► raised: kept in memory ─► the broker's next turn ─► message
//! ```
//!
//! A notification is an object of its database; one of the server is an object of master. Its messages have conversations of their own
//! ([`crate::broker`]), and what EVENTDATA() would say as their body. One whose service is not there when an event is to be told is dropped,
//! as the product does.
//!
//! | file | owns |
//! | --- | --- |
//! | [`definition`] | what a notification is, as the catalog stores it |
//! | [`types`] | the events that are not triggers' |
//! | `ddl` | CREATE and DROP, and who may |
//! | [`raise`] | events that belong to no transaction |
//! | `send` | the messages |
//!
//! Deliberately absent: events of things that are not here; those that can be named are listed in [`types`].

mod ddl;
pub mod definition;
pub mod raise;
mod send;
pub mod types;
