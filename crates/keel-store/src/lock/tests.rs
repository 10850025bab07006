//! Behaviour of the lock manager.
