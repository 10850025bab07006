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
//! | [`alerts`] | what errors start, and whom they tell |
//! | [`mail`] | Database Mail: what is to be sent, by which account, and what came of it |
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
//! Subsystems other than T-SQL (as in the product on Linux), proxies, pagers and net send, master servers.

pub mod alerts;
pub mod board;
mod clerk;
pub mod install;
pub mod job;
pub mod mail;
pub(crate) mod mail_query;
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
    (14601, 16, "Operator \"%s\" is disabled and therefore cannot receive notifications."),
    (14602, 16, "Operator \"%s\" does not have an e-mail address specified."),
    (14604, 16, "Both %s parameters (id and name) cannot be NULL"),
    (14605, 16, "Both %s parameters (id and name) do not point to the same object"),
    (14606, 16, "%s id is not valid"),
    (14607, 16, "%s name is not valid"),
    (14608, 16, "Either %s or %s parameter needs to be supplied"),
    (14614, 16, "%s is not a valid mailserver_type"),
    (14615, 16, "The @username parameter needs to be supplied if the @password is supplied."),
    (
        14622,
        16,
        "Parameter @importance does not support the value \"%s\". Mail importance must be one of LOW, NORMAL, or HIGH.",
    ),
    (
        14623,
        16,
        "Parameter @sensitivity does not support the value \"%s\". Mail sensitivity must be one of NORMAL, PERSONAL, PRIVATE, or CONFIDENTIAL.",
    ),
    (14624, 16, "At least one of the following parameters must be specified. \"%s\"."),
    (
        14625,
        16,
        "Parameter @attach_query_result_as_file cannot be 1 (true) when no value is specified for parameter @query. A query must be specified to attach the results of the query.",
    ),
    (
        14626,
        16,
        "Parameter @mailformat does not support the value \"%s\". The mail format must be TEXT or HTML.",
    ),
    (
        14629,
        16,
        "There is no configuration parameter named \"%s\", or the value provided is not of the correct data type.",
    ),
    (14630, 16, "Database Mail is not permitted to send files with the file extension %s."),
    (
        14633,
        16,
        "The database name \"%s\" specified in @execute_query_database is invalid. There is no database by that name.",
    ),
    (14636, 16, "No global profile is configured. Specify a profile name in the @profile_name parameter."),
    (14641, 16, "Mail not queued. Database Mail is stopped. Use sysmail_start_sp to start Database Mail."),
    (14661, 16, "Query execution failed: %s"),
    (14666, 16, "User name cannot be supplied when using default credentials"),
    (
        14668,
        16,
        "Deleting profile %s failed because there are some unsent emails associated with this profile, use force_delete option to force the deletion of the profile.",
    ),
    (15003, 16, "Only members of the %s role can execute this stored procedure."),
    (22050, 16, "File attachment or query results size exceeds allowable value of %d bytes."),
];
