//! Delayed durability and a server that is killed: what is left of one writer's rows is 1, 2, … to some number, and whatever it was told to be
//! fully durable is among them.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::ledger::Dir;
use common::{Instance, KEEL, PASSWORD};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Inserts rows from the first number that is free on, every tenth of them fully durable, and says so.
const WRITER: &str = "SET NOCOUNT ON; DECLARE @n int = (SELECT ISNULL(MAX(n), 0) FROM t);
WHILE 1 = 1
BEGIN
  SET @n += 1; BEGIN TRAN; INSERT t VALUES (@n);
  IF @n % 10 = 0 BEGIN COMMIT; RAISERROR ('%d', 0, 1, @n) WITH NOWAIT END
  ELSE COMMIT WITH (DELAYED_DURABILITY = ON)
END";

/// Has a writer write until it has said so many times how far it is, kills the server then, and returns that.
fn write_and_kill(node: &mut Instance, words: usize) -> u64 {
    let mut command = Command::new(KEEL);
    command.args(["sql", "-S", &node.server(), "-P", PASSWORD, "-C", "-d", "shop", "-Q", WRITER]);
    let mut client = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let said = BufReader::new(client.stdout.take().unwrap());
    let last = said.lines().map_while(Result::ok).filter_map(|line| line.trim().parse().ok()).nth(words - 1);
    node.kill();
    client.kill().unwrap();
    client.wait().unwrap();
    last.unwrap()
}

#[test]
fn a_kill_loses_the_last_ones_at_most() {
    let dir = Dir::new("delayed");
    let mut node = Instance::new(&dir.0, 1);
    node.run("CREATE DATABASE shop; ALTER DATABASE shop SET DELAYED_DURABILITY = ALLOWED");
    node.run("CREATE TABLE shop.dbo.t (n int PRIMARY KEY)");
    for round in 1..6 {
        let told = write_and_kill(&mut node, round * 5);
        node.start();
        let found = node.value("SELECT CONCAT(COUNT(*), ' ', MAX(n)) FROM shop.dbo.t");
        let (count, last) = found.split_once(' ').unwrap();
        assert_eq!(count, last, "a hole");
        assert!(last.parse::<u64>().unwrap() >= told, "{told} was fully durable, {last} is the last");
    }
}
