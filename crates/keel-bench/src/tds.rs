//! Evenkeel, or any server that speaks TDS, by address.
