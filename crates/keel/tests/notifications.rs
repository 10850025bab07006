//! Query notifications over the wire: the header of a request, the message that comes, a process that is killed.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, PASSWORD};
use keel_tds::client::{Client, ClientEncryption, ConnectOptions, trust_any_certificate};
use keel_tds::login::Login;
use keel_tds::request::Notification;
use keel_tds::token::Token;
use std::net::TcpStream;

/// The next message: what the client has said, and why it came.
const TOLD: &str = "DECLARE @b xml; WAITFOR (RECEIVE TOP (1) @b = CAST(message_body AS xml) FROM shop.dbo.told), TIMEOUT 120000;
    SELECT @b.value('(/*/*)[1]', 'varchar(20)') + ' ' + @b.value('(/*/@source)[1]', 'varchar(20)') + ' ' + @b.value('(/*/@info)[1]', 'varchar(20)')";

/// Runs a query whose result is to be watched.
fn watch(client: &mut Client<TcpStream>, id: &str, sql: &str) {
    let deployment = "service=news;local database=shop".to_owned();
    client.batch_watched(sql, Notification { id: id.to_owned(), deployment, timeout: Some(600) }).unwrap();
    while let Some(token) = client.next_token().unwrap() {
        if let Token::Message(message) = token {
            assert!(message.class <= 10, "{}", message.text);
        }
    }
}

#[test]
fn changes_and_restarts_are_told_over_the_wire() {
    let dir = std::env::temp_dir().join(format!("keel-notifications-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let mut node = Instance::new(&dir, 1);
    node.run("CREATE DATABASE shop");
    node.run(
        "USE shop; CREATE QUEUE told;
         CREATE SERVICE news ON QUEUE told ([http://schemas.microsoft.com/SQL/Notifications/PostQueryNotification]);
         CREATE TABLE dbo.goods (id int PRIMARY KEY, price int NOT NULL); INSERT dbo.goods VALUES (1, 10), (2, 20)",
    );
    let client = |node: &Instance| {
        let login = Login {
            user_name: "sa".into(),
            password: PASSWORD.into(),
            database: "shop".into(),
            ..Login::default()
        };
        let tls = Some(trust_any_certificate().unwrap());
        let options =
            ConnectOptions { login, encryption: ClientEncryption::LoginOnly, tls, host: node.ip.clone() };
        Client::connect(TcpStream::connect((node.ip.as_str(), node.port)).unwrap(), &options).unwrap()
    };
    let mut one = client(&node);
    watch(
        &mut one,
        "first",
        "SET ANSI_NULLS, ANSI_WARNINGS, ANSI_PADDING, QUOTED_IDENTIFIER, CONCAT_NULL_YIELDS_NULL ON",
    );
    watch(&mut one, "first", "SELECT id, price FROM dbo.goods WHERE id = 1");
    assert_eq!(node.value("SELECT timeout FROM sys.dm_qn_subscriptions"), "600");
    node.run("UPDATE shop.dbo.goods SET price = 21 WHERE id = 2; UPDATE shop.dbo.goods SET price = 11 WHERE id = 1");
    assert_eq!(node.value(TOLD), "first data update");
    watch(&mut one, "second", "SELECT id, price FROM dbo.goods WHERE id = 1");
    assert_eq!(node.value("SELECT COUNT(*) FROM shop.dbo.told"), "0");
    node.kill();
    node.start();
    assert_eq!(node.value(TOLD), "second database restart");
    drop(node);
    let _ = std::fs::remove_dir_all(&dir);
}
