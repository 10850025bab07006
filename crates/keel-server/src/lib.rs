//! (chapter to come)
