//! The `keel` binary: `serve` runs a server, `witness` a vote, `sql` talks to a server; `init`, `join` and `group` make availability
//! groups, `cluster` looks after them, `repository` keeps backups, `demo` shows one at work, `bench` measures, `size` says what a machine must have.
//!
//! Both are thin: `serve` hands its configuration to [`keel_server::instance`], `sql` is a client like any other and
//! knows the server only through the wire.

mod allocator;
mod cluster;
mod demo;
mod groups;
mod keeper;
mod login;
mod memory;
#[cfg(test)]
mod reference;
mod repository;
mod serve;
mod signals;
mod sql;
mod witness;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Rows, versions and keys are millions of small blocks that one thread allocates and another frees.
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// Evenkeel: a database server for SQL Server's clients.
#[derive(Parser)]
#[command(name = "keel", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
    Sql(Box<sql::Sql>),
    Init(groups::Init),
    Join(groups::Join),
    Group(groups::Group),
    Cluster(cluster::Cluster),
    Witness(witness::Witness),
    Repository(repository::Repository),
    Keeper(keeper::Keeper),
    Demo(demo::Demo),
    Bench(keel_bench::cli::Bench),
    Size(Box<keel_bench::cli::Sizing>),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(serve) => serve.run(),
        Command::Sql(sql) => sql.run(),
        Command::Init(init) => init.run(),
        Command::Join(join) => join.run(),
        Command::Group(group) => group.run(),
        Command::Cluster(cluster) => cluster.run(),
        Command::Witness(witness) => witness.run(),
        Command::Repository(repository) => repository.run(),
        Command::Keeper(keeper) => keeper.run(),
        Command::Demo(demo) => demo.run(),
        Command::Bench(bench) => login::finish(measure(bench)),
        Command::Size(size) => login::finish(size.run()),
    }
}

/// Runs a measurement on servers of this program.
fn measure(bench: keel_bench::cli::Bench) -> anyhow::Result<()> {
    bench.run(&std::env::current_exe()?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        super::Cli::command().debug_assert();
    }
}
