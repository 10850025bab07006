//! Who has to leave a database before ALTER DATABASE changes its state, and WITH ROLLBACK IMMEDIATE, ROLLBACK AFTER and NO_WAIT.
//!
//! The statement comes back when those who had to leave are gone, their transactions rolled back: what follows it finds nobody there.

use crate::catalog::DatabaseSettings;
use crate::distributed::errors::uow_prepared;
use crate::distributed::{Doubt, uow_text};
use crate::engine::{Changing, DatabaseEntry, Looking, SessionShared};
use crate::errors::{alter_database_failed, error_functions};
use crate::run::Runner;
use keel_parser::ast::Termination;
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
        self.let_go();
        let for_one = now.user_access == "SINGLE_USER";
        if !for_one && leaving == Leaving::Nobody {
            return Ok(None);
        }
        let Some(changing) = entry.begin_changing(me) else { return self.state_stays(no_lock(entry.name())) };
        if for_one && self.info.engine.is_used_by_another(entry.id, &self.info.shared)? {
            if !ends {
                return self.state_stays(in_single_user_mode(entry.name()));
            }
            leaving = Leaving::Everybody;
        }
        if leaving == Leaving::Nobody {
            return Ok(Some(changing));
        }
        let patience = match termination {
            None => None,
            Some(Termination::RollbackImmediate) => Some(0),
            Some(Termination::RollbackAfter { seconds }) => Some(u64::from(*seconds) * LOOKS_PER_SECOND),
            Some(Termination::NoWait) if self.is_to_be_left(entry, leaving) => {
                return self.state_stays(others_use_it(entry.name()));
            }
            Some(Termination::NoWait) => Some(0),
        };
        match patience {
            Some(looks) => self.make_leave(entry, leaving, looks)?,
            None => self.wait_for_leaving(entry, leaving)?,
        }
        Ok(Some(changing))
    }

    /// Says why, and then that the statement failed.
    fn state_stays<T>(&mut self, why: E) -> Result<T> {
        self.info.say(why);
        Err(alter_database_failed())
    }

    /// Without WITH. Fails when it takes longer than a lock may, and when somebody who stays waits in the same way, perhaps for this session.
    fn wait_for_leaving(&mut self, entry: &Arc<DatabaseEntry>, leaving: Leaving) -> Result<()> {
        let mut looking = Looking::new(&self.info.shared);
        while self.is_to_be_left(entry, leaving) {
            let waits = |session: &Arc<SessionShared>| session.looking.load(Ordering::Acquire);
            if looking.is_over() || self.staying(entry, leaving).iter().any(waits) {
                return self.state_stays(no_lock(entry.name()));
            }
            looking.again()?;
        }
        Ok(())
    }

    /// Those who do not go by themselves are ended after so many looks. Fails when there are transactions that only who decides about them can
    /// end.
    fn make_leave(&mut self, entry: &Arc<DatabaseEntry>, leaving: Leaving, patience: u64) -> Result<()> {
        let mut looking = Looking::patient(&self.info.shared);
        let mut ended = 0;
        for look in 0.. {
            if !self.is_to_be_left(entry, leaving) {
                break;
            }
            if look >= patience {
                self.refuse_in_doubt(entry, leaving)?;
                let staying = self.staying(entry, leaving);
                staying.iter().for_each(|session| session.kill());
                ended = ended.max(staying.len());
                if leaving == Leaving::Everybody {
                    self.info.engine.give_up_branches_in(entry.id);
                }
                if (look - patience) % LOOKS_PER_SECOND == LOOKS_PER_SECOND - 1 {
                    let percent = (ended - staying.len()) * 100 / ended.max(1);
                    self.report(&rolled_back(percent));
                    self.sink.flush();
                }
            }
            looking.again()?;
        }
        if ended > 0 {
            self.report(&rolled_back(100));
        }
        Ok(())
    }

    /// Transactions that are prepared keep it in use: nobody here may end them.
    fn refuse_in_doubt(&mut self, entry: &Arc<DatabaseEntry>, leaving: Leaving) -> Result<()> {
        if leaving != Leaving::Everybody {
            return Ok(());
        }
        let doubts = Doubt::all_of(entry);
        for doubt in &doubts {
            self.info.say(uow_prepared(uow_text(&doubt.name.uow)));
        }
        if doubts.is_empty() { Ok(()) } else { self.state_stays(no_lock(entry.name())) }
    }

    /// Whether somebody is still to leave, transactions that no session works in included.
    fn is_to_be_left(&mut self, entry: &Arc<DatabaseEntry>, leaving: Leaving) -> bool {
        if !self.staying(entry, leaving).is_empty() {
            return true;
        }
        let own = u32::from(self.own_txns().is_some_and(|set| set.is_in(entry.id)));
        leaving == Leaving::Everybody
            && (entry.open_transactions.load(Ordering::Acquire) > own || !Doubt::all_of(entry).is_empty())
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
            || engine.login_of(login).is_some_and(|login| {
                let token = match &session.login.account {
                    Some(account) => picture.token_of_account(account, false),
                    None => picture.token_of_login(&login.sid, false),
                };
                token.is_some_and(|token| token.owner) || creates(&login)
            })
    }
}
