//! Accounts and groups of a domain: what somebody has who is in groups, and what the domain's directory is asked about.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, run, server, value, well};
use keel_sql::windows::{Account, Directory, Listed, Unanswered};
use keel_sql::{Engine, LoginRecord, Session, SessionOptions};
use std::sync::Arc;

fn sid(number: u8) -> Vec<u8> {
    vec![1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, number, 0, 0, 0]
}

/// CORP with an account ann in the groups clerks, auditors and everyone; it does not answer about `silent`.
struct Corp;

const NAMES: [(&str, u8, bool); 5] = [
    ("ann", 1, false),
    ("bob", 2, false),
    ("clerks", 11, true),
    ("auditors", 12, true),
    ("everyone", 13, true),
];

impl Directory for Corp {
    fn find(&self, domain: &str, name: &str) -> Result<Option<Listed>, Unanswered> {
        if name == "silent" {
            return Err(Unanswered("nobody there".to_owned()));
        }
        let found = NAMES.iter().find(|(n, ..)| domain == "CORP" && n.eq_ignore_ascii_case(name));
        Ok(found.map(|(name, number, group)| Listed {
            name: format!("CORP\\{name}"),
            sid: sid(*number),
            group: *group,
        }))
    }

    fn groups_of(&self, _: &str, name: &str) -> Result<Vec<Vec<u8>>, Unanswered> {
        Ok(if name == "ann" { vec![sid(11), sid(12), sid(13)] } else { vec![sid(13)] })
    }

    fn members(&self, domain: &str, _: &str) -> Result<Vec<Listed>, Unanswered> {
        Ok(self.find(domain, "ann")?.into_iter().collect())
    }
}

fn instance() -> (Arc<Engine>, Session) {
    let engine = server();
    engine.add_login(LoginRecord::sa(b"secret".to_vec())).unwrap();
    engine.set_directory(Arc::new(Corp));
    let mut sa = connect(&engine);
    well(&mut sa, "CREATE DATABASE shop");
    (engine, sa)
}

/// A session of an account that its domain has in these groups, if it may log in.
fn come(engine: &Arc<Engine>, name: &str, number: u8, groups: &[u8]) -> Option<Session> {
    let groups = groups.iter().map(|number| sid(*number)).collect();
    let account = Account::new(format!("CORP\\{name}"), Some(sid(number)), groups);
    let logins = engine.logins().unwrap();
    let login = logins.of_account(&account)?.into_owned();
    if !logins.may_connect(&login) {
        return None;
    }
    let options = SessionOptions {
        login: login.name,
        sid: login.sid,
        sysadmin: login.sysadmin,
        account: Some(Arc::new(account)),
        database: login.default_database,
        ansi_defaults: true,
        ..SessionOptions::default()
    };
    Some(engine.session(options).unwrap())
}

#[test]
fn somebody_has_what_the_logins_of_all_groups_have() {
    let (engine, mut sa) = instance();
    assert!(come(&engine, "ann", 1, &[11, 12]).is_none());
    well(
        &mut sa,
        "CREATE LOGIN [CORP\\clerks] FROM WINDOWS; CREATE LOGIN [CORP\\auditors] FROM WINDOWS WITH DEFAULT_DATABASE = shop",
    );
    well(&mut sa, "USE shop; CREATE USER [CORP\\auditors]; USE master");
    well(
        &mut sa,
        "ALTER SERVER ROLE dbcreator ADD MEMBER [CORP\\clerks]; GRANT VIEW SERVER STATE TO [CORP\\auditors]",
    );
    let mut ann = come(&engine, "ann", 1, &[11, 12]).unwrap();
    let has = "SELECT CONCAT(DB_NAME(), ' ', SUSER_SNAME(), ' ', IS_SRVROLEMEMBER('dbcreator'), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'))";
    assert_eq!(value(&mut ann, has), "shop CORP\\ann 11");
    // Of one group alone, half of it; and nothing of a group that is disabled.
    let mut other = come(&engine, "bob", 2, &[11]).unwrap();
    assert_eq!(value(&mut other, has), "master CORP\\bob 10");
    well(&mut sa, "ALTER LOGIN [CORP\\clerks] DISABLE");
    assert_eq!(value(&mut ann, has), "shop CORP\\ann 01");
    assert!(come(&engine, "bob", 2, &[11]).is_none());
    // Everybody is in this one.
    well(&mut sa, "CREATE LOGIN [NT AUTHORITY\\Authenticated Users] FROM WINDOWS");
    assert!(come(&engine, "bob", 2, &[11]).is_some());
    // One group that is kept out keeps out who is in others, too, whether it would let in or not.
    well(&mut sa, "DENY CONNECT SQL TO [CORP\\auditors]");
    assert!(come(&engine, "ann", 1, &[11, 12]).is_none());
    well(&mut sa, "ALTER LOGIN [CORP\\auditors] DISABLE");
    assert!(come(&engine, "ann", 1, &[11, 12]).is_none());
}

#[test]
fn an_own_login_has_its_name_and_what_the_groups_have() {
    let (engine, mut sa) = instance();
    well(&mut sa, "CREATE LOGIN [CORP\\ann] FROM WINDOWS; CREATE LOGIN [CORP\\clerks] FROM WINDOWS");
    well(&mut sa, "ALTER SERVER ROLE sysadmin ADD MEMBER [CORP\\clerks]");
    let mut ann = come(&engine, "anna", 1, &[11]).unwrap();
    assert_eq!(
        value(&mut ann, "SELECT CONCAT(SUSER_SNAME(), ' ', USER_NAME(), IS_SRVROLEMEMBER('sysadmin'))"),
        "CORP\\ann dbo1"
    );
    let token = "SELECT STRING_AGG(CONCAT(name, ' ', type), ';') WITHIN GROUP (ORDER BY type, name) FROM sys.login_token";
    let all = "public SERVER ROLE;sysadmin SERVER ROLE;CORP\\clerks WINDOWS GROUP;CORP\\ann WINDOWS LOGIN";
    assert_eq!(value(&mut ann, token), all);
}

#[test]
fn in_a_database_the_users_of_all_groups_count_and_one_denial_is_enough() {
    let (engine, mut sa) = instance();
    well(&mut sa, "CREATE LOGIN [CORP\\everyone] FROM WINDOWS");
    well(
        &mut sa,
        "USE shop; CREATE TABLE orders (n int); INSERT orders VALUES (7); CREATE TABLE plans (n int)",
    );
    assert!(run(&mut sa, "CREATE USER [CORP\\nobody]").contains("Msg 15401"));
    well(&mut sa, "CREATE USER [CORP\\clerks]; CREATE USER [CORP\\auditors] WITH DEFAULT_SCHEMA = books");
    well(
        &mut sa,
        "GRANT SELECT TO [CORP\\auditors]; GRANT INSERT TO [CORP\\clerks]; DENY SELECT ON plans TO [CORP\\clerks]",
    );
    let mut ann = come(&engine, "ann", 1, &[11, 12, 13]).unwrap();
    well(&mut ann, "USE shop");
    assert_eq!(value(&mut ann, "SELECT n FROM dbo.orders"), "7");
    well(&mut ann, "INSERT dbo.orders VALUES (8)");
    assert!(run(&mut ann, "SELECT n FROM dbo.plans").contains("Msg 229"));
    assert!(run(&mut ann, "DELETE dbo.orders").contains("Msg 229"));
    // Nobody has that name here, and it is hers.
    assert_eq!(value(&mut ann, "SELECT CONCAT(USER_NAME(), ' ', CURRENT_USER)"), "CORP\\ann CORP\\ann");
    assert_eq!(
        value(
            &mut ann,
            "SELECT CONCAT(IS_MEMBER('CORP\\clerks'), IS_MEMBER('CORP\\everyone'), ISNULL(IS_MEMBER('CORP\\bob'), 9))"
        ),
        "119"
    );
    let mut bob = come(&engine, "bob", 2, &[13]).unwrap();
    assert!(run(&mut bob, "USE shop").contains("Msg 916"));
    // What she makes is hers, not a group's.
    well(&mut sa, "USE master; ALTER SERVER ROLE dbcreator ADD MEMBER [CORP\\everyone]");
    well(&mut ann, "USE master; CREATE DATABASE own");
    assert_eq!(
        value(&mut ann, "SELECT SUSER_SNAME(owner_sid) FROM sys.databases WHERE name = 'own'"),
        "CORP\\ann"
    );
    well(&mut ann, "USE own; CREATE TABLE t (n int)");
}

#[test]
fn a_group_of_a_contained_database_lets_its_members_in() {
    let (engine, mut sa) = instance();
    well(&mut sa, "EXEC sp_configure 'contained database authentication', 1; RECONFIGURE");
    well(&mut sa, "CREATE DATABASE island CONTAINMENT = PARTIAL");
    well(&mut sa, "USE island; CREATE USER [CORP\\clerks]");
    let account = |groups| Account::new("CORP\\ann".to_owned(), Some(sid(1)), groups);
    assert!(engine.database_user_of("island", &account(vec![sid(12)])).is_none());
    assert!(engine.database_user_of("shop", &account(vec![sid(11)])).is_none());
    let user = engine.database_user_of("island", &account(vec![sid(11)])).unwrap();
    assert_eq!((user.name.as_str(), user.sid), ("CORP\\ann", sid(1)));
}

#[test]
fn the_directory_says_who_a_name_is() {
    let (engine, mut sa) = instance();
    for (name, number) in [("nobody", 15401), ("silent", 15404)] {
        let said = run(&mut sa, &format!("CREATE LOGIN [CORP\\{name}] FROM WINDOWS"));
        assert!(said.contains(&format!("Msg {number}")), "{said}");
    }
    well(&mut sa, "CREATE LOGIN [CORP\\clerks] FROM WINDOWS");
    assert_eq!(value(&mut sa, "SELECT type FROM sys.server_principals WHERE name = 'CORP\\clerks'"), "G");
    assert!(run(&mut sa, "ALTER LOGIN [CORP\\clerks] WITH NAME = [CORP\\ann]").contains("Msg 15098"));
    assert!(run(&mut sa, "EXEC xp_logininfo 'CORP\\clerks', 'members'").contains("CORP\\ann"));
    well(&mut sa, "ALTER SERVER ROLE sysadmin ADD MEMBER [CORP\\clerks]; EXECUTE AS LOGIN = 'CORP\\ann'");
    assert_eq!(value(&mut sa, "SELECT CONCAT(SUSER_SNAME(), IS_SRVROLEMEMBER('sysadmin'))"), "CORP\\ann1");
    well(&mut sa, "REVERT");
    assert!(run(&mut sa, "EXECUTE AS LOGIN = 'CORP\\bob'").contains("Msg 15406"));
    // Nobody is a group.
    assert!(run(&mut sa, "EXECUTE AS LOGIN = 'CORP\\clerks'").contains("Msg 15406"));
    well(&mut sa, "CREATE USER [CORP\\clerks]");
    assert!(run(&mut sa, "EXECUTE AS USER = 'CORP\\clerks'").contains("Msg 15517"));
    // Who was there before the directory goes on by the name.
    let before = Account::new("CORP\\old".to_owned(), Some(sid(9)), Vec::new());
    assert!(engine.logins().unwrap().of_account(&before).is_none());
    let named = LoginRecord {
        name: "CORP\\old".to_owned(),
        sid: keel_sql::windows::sid("CORP\\old").unwrap(),
        principal_id: 0,
        sysadmin: false,
        ..LoginRecord::sa(Vec::new())
    };
    engine.add_login(named).unwrap();
    assert!(engine.logins().unwrap().of_account(&before).is_some());
}
