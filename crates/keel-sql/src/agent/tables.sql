-- What the agent keeps: categories, operators, jobs with their steps and schedules, alerts, history and activity. The
-- names and columns of tables are the product's. Every batch can be run again: an instance of an earlier version gets what it lacks.
if object_id('dbo.syscategories') is null
begin
    create table dbo.syscategories (
        category_id int identity not null primary key,
        category_class int not null,
        category_type tinyint not null,
        name sysname not null,
        unique (name, category_class));
    -- Class 1 is of jobs, 2 of alerts, 3 of operators; type 1 is local, 2 of a master server, 3 of neither.
    set identity_insert dbo.syscategories on;
    insert dbo.syscategories (category_id, category_class, category_type, name) values
        (0, 1, 1, N'[Uncategorized (Local)]'), (1, 1, 1, N'Jobs from MSX'), (2, 1, 2, N'[Uncategorized (Multi-Server)]'),
        (3, 1, 1, N'Database Maintenance'), (5, 1, 1, N'Full-Text'), (6, 1, 1, N'Log Shipping'),
        (7, 1, 1, N'Database Engine Tuning Advisor'), (8, 1, 1, N'Data Collector'), (10, 1, 1, N'REPL-Distribution'),
        (11, 1, 1, N'REPL-Distribution Cleanup'), (12, 1, 1, N'REPL-History Cleanup'), (13, 1, 1, N'REPL-LogReader'),
        (14, 1, 1, N'REPL-Merge'), (15, 1, 1, N'REPL-Snapshot'), (16, 1, 1, N'REPL-Checkup'),
        (17, 1, 1, N'REPL-Subscription Cleanup'), (18, 1, 1, N'REPL-Alert Response'), (19, 1, 1, N'REPL-QueueReader'),
        (20, 2, 3, N'Replication'), (98, 2, 3, N'[Uncategorized]'), (99, 3, 3, N'[Uncategorized]');
    set identity_insert dbo.syscategories off;
    dbcc checkident ('dbo.syscategories', reseed, 100) with no_infomsgs;
end
GO
if object_id('dbo.sysoperators') is null
    create table dbo.sysoperators (
        id int identity not null,
        name sysname not null primary key,
        enabled tinyint not null,
        email_address nvarchar(100) null,
        last_email_date int not null default 0,
        last_email_time int not null default 0,
        pager_address nvarchar(100) null,
        last_pager_date int not null default 0,
        last_pager_time int not null default 0,
        weekday_pager_start_time int not null,
        weekday_pager_end_time int not null,
        saturday_pager_start_time int not null,
        saturday_pager_end_time int not null,
        sunday_pager_start_time int not null,
        sunday_pager_end_time int not null,
        pager_days tinyint not null,
        netsend_address nvarchar(100) null,
        last_netsend_date int not null default 0,
        last_netsend_time int not null default 0,
        category_id int not null,
        unique (id));
GO
if object_id('dbo.sysjobs') is null
    create table dbo.sysjobs (
        job_id uniqueidentifier not null primary key,
        originating_server_id int not null,
        name sysname not null unique,
        enabled tinyint not null,
        description nvarchar(512) null,
        start_step_id int not null,
        category_id int not null,
        owner_sid varbinary(85) not null,
        notify_level_eventlog int not null,
        notify_level_email int not null,
        notify_level_netsend int not null,
        notify_level_page int not null,
        notify_email_operator_id int not null,
        notify_netsend_operator_id int not null,
        notify_page_operator_id int not null,
        delete_level int not null,
        date_created datetime not null,
        date_modified datetime not null,
        version_number int not null);
GO
if object_id('dbo.sysjobsteps') is null
    create table dbo.sysjobsteps (
        job_id uniqueidentifier not null references dbo.sysjobs on delete cascade,
        step_id int not null,
        step_name sysname not null,
        subsystem nvarchar(40) not null,
        command nvarchar(max) null,
        flags int not null,
        additional_parameters nvarchar(max) null,
        cmdexec_success_code int not null,
        on_success_action tinyint not null,
        on_success_step_id int not null,
        on_fail_action tinyint not null,
        on_fail_step_id int not null,
        server sysname null,
        database_name sysname null,
        database_user_name sysname null,
        retry_attempts int not null,
        retry_interval int not null,
        os_run_priority int not null,
        output_file_name nvarchar(200) null,
        last_run_outcome int not null,
        last_run_duration int not null,
        last_run_retries int not null,
        last_run_date int not null,
        last_run_time int not null,
        proxy_id int null,
        step_uid uniqueidentifier not null unique,
        primary key (job_id, step_id),
        unique (job_id, step_name));
GO
if object_id('dbo.sysjobstepslogs') is null
    create table dbo.sysjobstepslogs (
        log_id int identity not null primary key,
        log nvarchar(max) not null,
        date_created datetime not null default getdate(),
        date_modified datetime not null default getdate(),
        log_size bigint not null,
        step_uid uniqueidentifier not null references dbo.sysjobsteps (step_uid) on delete cascade);
GO
if object_id('dbo.sysjobservers') is null
    create table dbo.sysjobservers (
        job_id uniqueidentifier not null references dbo.sysjobs on delete cascade,
        server_id int not null,
        last_run_outcome tinyint not null,
        last_outcome_message nvarchar(4000) null,
        last_run_date int not null,
        last_run_time int not null,
        last_run_duration int not null,
        primary key (job_id, server_id));
GO
if object_id('dbo.sysschedules') is null
    create table dbo.sysschedules (
        schedule_id int identity not null primary key,
        schedule_uid uniqueidentifier not null,
        originating_server_id int not null,
        name sysname not null,
        owner_sid varbinary(85) not null,
        enabled int not null,
        freq_type int not null,
        freq_interval int not null,
        freq_subday_type int not null,
        freq_subday_interval int not null,
        freq_relative_interval int not null,
        freq_recurrence_factor int not null,
        active_start_date int not null,
        active_end_date int not null,
        active_start_time int not null,
        active_end_time int not null,
        date_created datetime not null default getdate(),
        date_modified datetime not null default getdate(),
        version_number int not null default 1);
GO
if object_id('dbo.sysjobschedules') is null
    create table dbo.sysjobschedules (
        schedule_id int null references dbo.sysschedules,
        job_id uniqueidentifier null references dbo.sysjobs on delete cascade,
        next_run_date int not null default 0,
        next_run_time int not null default 0,
        unique clustered (job_id, schedule_id));
GO
if object_id('dbo.sysjobhistory') is null
    create table dbo.sysjobhistory (
        instance_id int identity not null,
        job_id uniqueidentifier not null,
        step_id int not null,
        step_name sysname not null,
        sql_message_id int not null,
        sql_severity int not null,
        message nvarchar(4000) null,
        run_status int not null,
        run_date int not null,
        run_time int not null,
        run_duration int not null,
        operator_id_emailed int not null,
        operator_id_netsent int not null,
        operator_id_paged int not null,
        retries_attempted int not null,
        server sysname not null,
        primary key nonclustered (instance_id),
        index nc1 clustered (job_id, instance_id));
GO
if object_id('dbo.syssessions') is null
    create table dbo.syssessions (session_id int identity not null primary key, agent_start_date datetime not null);
GO
if object_id('dbo.sysjobactivity') is null
    create table dbo.sysjobactivity (
        session_id int not null references dbo.syssessions,
        job_id uniqueidentifier not null references dbo.sysjobs on delete cascade,
        run_requested_date datetime null,
        run_requested_source sysname null,
        queued_date datetime null,
        start_execution_date datetime null,
        last_executed_step_id int null,
        last_executed_step_date datetime null,
        stop_execution_date datetime null,
        job_history_id int null,
        next_scheduled_run_date datetime null,
        unique clustered (session_id, job_id));
GO
if object_id('dbo.sysalerts') is null
    create table dbo.sysalerts (
        id int identity not null,
        name sysname not null primary key,
        event_source nvarchar(100) not null,
        event_category_id int null,
        event_id int null,
        message_id int not null,
        severity int not null,
        enabled tinyint not null,
        delay_between_responses int not null,
        last_occurrence_date int not null default 0,
        last_occurrence_time int not null default 0,
        last_response_date int not null default 0,
        last_response_time int not null default 0,
        notification_message nvarchar(512) null,
        include_event_description tinyint not null,
        database_name nvarchar(512) null,
        event_description_keyword nvarchar(100) null,
        occurrence_count int not null default 0,
        count_reset_date int not null default 0,
        count_reset_time int not null default 0,
        job_id uniqueidentifier not null,
        has_notification int not null,
        flags int not null,
        performance_condition nvarchar(512) null,
        category_id int not null,
        unique (id));
GO
if object_id('dbo.sysnotifications') is null
    create table dbo.sysnotifications (
        alert_id int not null,
        operator_id int not null,
        notification_method tinyint not null,
        primary key (alert_id, operator_id));
GO
if object_id('dbo.sysproxies') is null
    create table dbo.sysproxies (
        proxy_id int identity not null primary key,
        name sysname not null unique,
        credential_id int not null,
        enabled tinyint not null,
        description nvarchar(512) null,
        user_sid varbinary(85) not null,
        credential_date_created datetime not null);
GO
if object_id('dbo.syssubsystems') is null
begin
    create table dbo.syssubsystems (
        subsystem_id int not null primary key,
        subsystem nvarchar(40) not null unique,
        description_id int null,
        subsystem_dll nvarchar(255) null,
        agent_exe nvarchar(255) null,
        start_entry_point nvarchar(30) null,
        event_entry_point nvarchar(30) null,
        stop_entry_point nvarchar(30) null,
        max_worker_threads int null);
    insert dbo.syssubsystems (subsystem_id, subsystem, description_id, max_worker_threads) values (1, N'TSQL', 14556, 20);
end
GO
-- How much history is kept; one row.
if object_id('dbo.keel_agent_properties') is null
begin
    create table dbo.keel_agent_properties (jobhistory_max_rows int not null, jobhistory_max_rows_per_job int not null);
    insert dbo.keel_agent_properties values (1000, 100);
end
GO
if col_length('dbo.keel_agent_properties', 'use_databasemail') is null
    alter table dbo.keel_agent_properties add use_databasemail bit not null default 0, databasemail_profile sysname null;
GO
if database_principal_id('SQLAgentUserRole') is null create role SQLAgentUserRole
GO
if database_principal_id('SQLAgentReaderRole') is null
begin
    create role SQLAgentReaderRole;
    alter role SQLAgentUserRole add member SQLAgentReaderRole;
end
GO
if database_principal_id('SQLAgentOperatorRole') is null
begin
    create role SQLAgentOperatorRole;
    alter role SQLAgentReaderRole add member SQLAgentOperatorRole;
end
GO
-- The jobs that the caller may see: the own ones, or all. Roles are those of the database that is in use, whoever made them
-- there; what is granted to readers of jobs is not.
create or alter view dbo.sysjobs_view as
select j.job_id, convert(sysname, serverproperty('ServerName')) as originating_server, j.name, j.enabled, j.description,
    j.start_step_id, j.category_id, j.owner_sid, j.notify_level_eventlog, j.notify_level_email, j.notify_level_netsend,
    j.notify_level_page, j.notify_email_operator_id, j.notify_netsend_operator_id, j.notify_page_operator_id, j.delete_level,
    j.date_created, j.date_modified, j.version_number, j.originating_server_id, convert(bit, 0) as master_server
from dbo.sysjobs j
where j.owner_sid = suser_sid() or is_srvrolemember('sysadmin') = 1 or has_perms_by_name('msdb.dbo.sp_help_jobcount', 'OBJECT', 'EXECUTE') = 1
GO
create or alter view dbo.sysschedules_localserver_view as
select schedule_id, schedule_uid, originating_server_id, name, owner_sid, enabled, freq_type, freq_interval, freq_subday_type,
    freq_subday_interval, freq_relative_interval, freq_recurrence_factor, active_start_date, active_end_date,
    active_start_time, active_end_time, date_created, date_modified, version_number,
    convert(sysname, serverproperty('ServerName')) as originating_server, convert(bit, 0) as master_server
from dbo.sysschedules
where owner_sid = suser_sid() or is_srvrolemember('sysadmin') = 1 or has_perms_by_name('msdb.dbo.sp_help_jobcount', 'OBJECT', 'EXECUTE') = 1
GO
create or alter function dbo.agent_datetime (@date int, @time int) returns datetime as
begin
    return convert(datetime, stuff(stuff(convert(char(8), @date), 7, 0, '-'), 5, 0, '-') + ' '
        + stuff(stuff(right('000000' + convert(varchar(6), @time), 6), 5, 0, ':'), 3, 0, ':'), 120)
end
GO
grant select on dbo.sysjobs_view to SQLAgentUserRole;
grant select on dbo.sysschedules_localserver_view to SQLAgentUserRole;
grant select on dbo.syscategories to SQLAgentUserRole;
grant execute on dbo.agent_datetime to public
