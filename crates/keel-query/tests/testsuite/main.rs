//! What the crate does, seen from outside, in one program: a program for each file would link the whole planner anew each time.

mod cancel;
mod common;
mod golden;
mod joins;
mod nested;
mod parallel;
mod ranges;
mod repeated;
mod spill;
mod together;
mod tpch;
mod unmatched;
