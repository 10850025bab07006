//! keel-log: one database's write-ahead log (lands in pieces).
