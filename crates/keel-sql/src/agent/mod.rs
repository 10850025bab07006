//! # The agent: jobs that the instance does by itself
//!
//! ```text
//!   msdb.dbo.sp_add_job …  ──►  tables of msdb  ◄── reads what is due ──  Service  (the host's thread: `due`, `rest`)
//!         │                                                                  │ a Run for each job that starts
//!         └── xp_sqlagent_notify ──►  Board  (who runs, who is asked for) ◄──┘  (a thread of the host each: `Run::execute`)
//!                                       ▲
//!   RAISERROR … WITH LOG, groups ───────┘ events, for the alerts
//! ```
//!
//! | module | owns |
//! | --- | --- |
//! | [`mod@install`] | the tables and procedures in `msdb`, as T-SQL beside it: made when an instance first starts, and renewed by a later version |
//! | [`schedule`] | when a schedule is due: arithmetic |
//! | [`office`] | whose jobs: the instance's, or a contained group's |
//! | [`board`] | what is running, what was asked for, in memory |
//! | [`service`] | which jobs start now, and until when there is nothing to do |
//! | [`job`] | one run of a job: its steps in order, what came of them, the history |
//! | `step` | one step: a session of the owner's, its messages, its output |
//! | [`alerts`] | what errors start |
//!
//! ## Model
//!
//! * What a job *is* are rows of `msdb`, which the procedures change like any others; what it *does* now is on the board. Nothing
//!   is taken up where it was after a restart: a run that the instance's end cut off stays without an outcome, as in the product.
//! * A job runs once at a time. A schedule that comes due meanwhile is passed over.
//! * Jobs of a database in an availability group are, as in the product, each instance's own, and look with
//!   `sys.fn_hadr_backup_is_preferred_replica` or `sys.fn_hadr_is_primary_replica` whether it is their turn.
//! * A contained group has jobs of its own: in its `msdb`, on a board of its own, served where its primary is.
//!
//! ## Deliberately absent
//!
//! Subsystems other than T-SQL (as in the product on Linux), proxies, mail (operators are kept, and nobody is sent anything), master servers.

pub mod alerts;
pub mod board;
mod clerk;
pub mod install;
pub mod job;
pub mod office;
pub mod schedule;
pub mod service;
mod step;

pub use board::Board;
pub(crate) use clerk::{Clerk, session_options};
pub use install::install;
pub(crate) use install::install_contained;
pub use job::Run;
pub use office::Office;
pub use service::Service;

/// Id of a job.
pub type JobId = [u8; 16];

/// What the procedures of the agent raise by number, with RAISERROR's places for arguments.
pub const MESSAGES: &[(i32, u8, &str)] = &[
    (14226, 0, "%d history entries purged."),
    (14234, 16, "The specified '%s' is invalid (valid values are returned by %s)."),
    (14235, 16, "The specified '%s' is invalid (valid values are greater than 0 but excluding %s)."),
    (14242, 16, "Only a system administrator can assign ownership of a job."),
    (14243, 0, "Job '%s' started successfully."),
    (14254, 0, "Job '%s' stopped successfully."),
    (
        14256,
        16,
        "Cannot start job \"%s\" (ID %s) because it does not have any job server or servers defined. Associate the job with a job server by calling sp_add_jobserver.",
    ),
    (
        14257,
        16,
        "Cannot stop the job \"%s\" (ID %s) because it does not have any job server or servers defined. Associate the job with a job server by calling sp_add_jobserver.",
    ),
    (14261, 16, "The specified %s ('%s') already exists."),
    (14262, 16, "The specified %s ('%s') does not exist."),
    (14263, 16, "The specified '%s' is invalid; it must not be empty."),
    (14266, 16, "The specified '%s' is invalid (valid values are: %s)."),
    (14269, 16, "Job '%s' is already targeted at server '%s'."),
    (14270, 16, "Job '%s' is not currently targeted at server '%s'."),
    (14276, 16, "'%s' is a permanent %s category and cannot be deleted or renamed."),
    (14288, 16, "%s cannot be before %s."),
    (14294, 16, "Supply either %s or %s to identify the job."),
    (14366, 16, "Only members of sysadmin role can modify the owner of a schedule."),
    (
        14371,
        16,
        "There are two or more schedules named \"%s\". Specify %s instead of %s to uniquely identify the schedule.",
    ),
    (14372, 16, "The schedule was not deleted because it is being used by one or more jobs."),
    (14373, 16, "Supply either %s or %s to identify the schedule."),
    (14374, 16, "The schedule \"%s\" is not attached to the job \"%s\"."),
    (
        14377,
        16,
        "The schedule was not attached to the specified job. The schedule owner and the job owner must be the same or the operation must be performed by a sysadmin.",
    ),
    (
        14500,
        16,
        "Supply either a non-zero message ID, non-zero severity, non-null performance condition, or non-null WMI namespace and query.",
    ),
    (14501, 16, "An alert ('%s') has already been defined on this condition."),
    (14517, 16, "A proxy account is not allowed for a Transact-SQL subsystem."),
    (
        14525,
        16,
        "Only members of sysadmin role are allowed to update or delete jobs owned by a different login.",
    ),
    (
        14527,
        16,
        "Job \"%s\" cannot be used by an alert. It should first be associated with a server by calling sp_add_jobserver.",
    ),
    (14582, 16, "Only a system administrator can specify a step output file."),
    (14583, 16, "Only a system administrator can specify '@database_user_name' parameter."),
    (15003, 16, "Only members of the %s role can execute this stored procedure."),
];
