//! Who has to leave a database before ALTER DATABASE changes its state, and WITH ROLLBACK IMMEDIATE, ROLLBACK AFTER and NO_WAIT.
//!
//! The statement comes back when those who had to leave are gone, their transactions rolled back: what follows it finds nobody there.

use crate::catalog::DatabaseSettings;
use crate::engine::{Changing, DatabaseEntry, SessionShared, look_again};
use crate::errors::{alter_database_failed, error_functions};
use crate::run::Runner;
use keel_parser::ast::Termination;
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

type E = Box<SqlError>;

error_functions! {
    /// What becomes of those who had to leave.
    rolled_back(percent) = 5060, 10, 1, "Nonqualified transactions are being rolled back. Estimated rollback completion: {percent}%.";
    /// Another session changes the state.
    no_lock(database) = 5061, 16, 1, "ALTER DATABASE failed because a lock could not be placed on database '{database}'. Try again later.";
    /// Another session is the one user.
    in_single_user_mode(database) = 5064, 16, 1, "Changes to the state or options of database '{database}' cannot be made at this time. The database is in single-user mode, and a user is currently connected to it.";
    /// NO_WAIT.
    others_use_it(database) = 5070, 16, 2, "Database state cannot be changed while other users are using the database '{database}'.";
}

/// Looks in a second, about.
const LOOKS_PER_SECOND: u64 = 100;

/// Who must leave.
#[derive(Clone, Copy, PartialEq)]
enum Leaving {
    Nobody,
    /// Who is not let in any more.
    Unqualified,
    Everybody,
}

impl Leaving {
    fn between(now: &DatabaseSettings, then: &DatabaseSettings) -> Leaving {
        let becomes = |mode: &str| then.user_access == mode && now.user_access != mode;
        if becomes("SINGLE_USER") || (then.offline && !now.offline) || then.read_only != now.read_only {
            Leaving::Everybody
        } else if becomes("RESTRICTED_USER") {
            Leaving::Unqualified
        } else {
            Leaving::Nobody
        }
    }
}

impl Runner<'_> {
    /// Returns when a database can go from one state to another; until what is returned is dropped, nobody comes in.
    pub(super) fn make_way<'a>(
        &mut self,
        entry: &'a Arc<DatabaseEntry>,
        now: &DatabaseSettings,
        then: &DatabaseSettings,
        termination: Option<&Termination>,
    ) -> Result<Option<Changing<'a>>> {
        let me = self.info.shared.id;
        let ends =
            matches!(termination, Some(Termination::RollbackImmediate | Termination::RollbackAfter { .. }));
        let mut leaving = Leaving::between(now, then);
        if now.user_access == "SINGLE_USER" && !self.info.engine.users_besides(entry.id, me).is_empty() {
            if !ends {
                return self.state_stays(in_single_user_mode(entry.name()));
            }
            leaving = Leaving::Everybody;
        }
        if leaving == Leaving::Nobody {
            return Ok(None);
        }
        let Some(changing) = entry.begin_changing(me) else { return self.state_stays(no_lock(entry.name())) };
        let patience = match termination {
            None => u64::MAX,
            Some(Termination::RollbackImmediate) => 0,
            Some(Termination::RollbackAfter { seconds }) => u64::from(*seconds) * LOOKS_PER_SECOND,
            Some(Termination::NoWait) if self.is_to_be_left(entry, leaving) => {
                return self.state_stays(others_use_it(entry.name()));
            }
            Some(Termination::NoWait) => 0,
        };
        self.wait_for_leaving(entry, leaving, patience)?;
        Ok(Some(changing))
    }

    /// Says why, and then that the statement failed.
    fn state_stays<T>(&mut self, why: E) -> Result<T> {
        self.info.say(why);
        Err(alter_database_failed())
    }

    /// Those who do not go by themselves are ended after so many looks.
    fn wait_for_leaving(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        leaving: Leaving,
        patience: u64,
    ) -> Result<()> {
        let mut ended = 0;
        for look in 0.. {
            let staying = self.staying(entry, leaving);
            if staying.is_empty() && !self.is_to_be_left(entry, leaving) {
                break;
            }
            if look >= patience {
                staying.iter().for_each(|session| session.kill());
                ended = ended.max(staying.len());
                if (look - patience) % LOOKS_PER_SECOND == LOOKS_PER_SECOND - 1 {
                    let percent = (ended - staying.len()) * 100 / ended.max(1);
                    self.report(&rolled_back(percent));
                    self.sink.flush();
                }
            }
            look_again(&self.info.shared)?;
        }
        if ended > 0 {
            self.report(&rolled_back(100));
        }
        Ok(())
    }

    /// Whether somebody is still to leave, transactions that no session works in included.
    fn is_to_be_left(&self, entry: &Arc<DatabaseEntry>, leaving: Leaving) -> bool {
        let transactions = || entry.transactions_besides(&self.info.shared) > 0;
        !self.staying(entry, leaving).is_empty() || leaving == Leaving::Everybody && transactions()
    }

    fn staying(&self, entry: &Arc<DatabaseEntry>, leaving: Leaving) -> Vec<Arc<SessionShared>> {
        let mut users = self.info.engine.users_besides(entry.id, self.info.shared.id);
        if leaving == Leaving::Unqualified {
            users.retain(|session| !self.is_let_in(entry, session));
        }
        users
    }

    /// Whether RESTRICTED_USER lets a session in: db_owner, dbcreator and sysadmin.
    fn is_let_in(&self, entry: &Arc<DatabaseEntry>, session: &SessionShared) -> bool {
        let (login, picture) = (&session.login, entry.picture());
        if let Some((database, user)) = login.user {
            return database == entry.id && picture.token_of(user).owner;
        }
        let engine = &self.info.engine;
        let creates = |login: &_| {
            let logins = engine.master_in(session.login.context.as_ref()).and_then(|master| master.logins());
            logins.is_ok_and(|l| l.roles_of(login).iter().any(|role| role.eq_ignore_ascii_case("dbcreator")))
        };
        login.sysadmin
            || engine.login_in(login.context.as_ref(), &login.login).is_some_and(|login| {
                let token = picture.token_of_login(&login.sid, false);
                token.is_some_and(|token| token.owner) || creates(&login)
            })
    }
}
