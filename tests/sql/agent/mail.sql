-- Database Mail: accounts, profiles, who may use them, what is sent and what is not. The servers are the test's: down.test takes nothing.
use msdb
GO
create procedure dbo.settle as
declare @till datetime = dateadd(minute, 1, getdate())
while exists (select 1 from dbo.sysmail_mailitems where sent_status in (0, 3)) and getdate() < @till waitfor delay '00:00:00.010'
GO
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N'too early'
GO
exec sp_configure 'show advanced options', 1
reconfigure
exec sp_configure 'Database Mail XPs', 1
reconfigure
GO
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N'nobody has a profile'
exec sp_send_dbmail @profile_name = N'none', @recipients = 'ann@example.com', @subject = N'there is none'
GO
-- Accounts
declare @id int
exec sysmail_add_account_sp @account_name = N'first', @email_address = N'keel@example.com', @display_name = N'Keel', @mailserver_name = N'down.test', @account_id = @id output
select @id
exec sysmail_add_account_sp @account_name = N'second', @email_address = N'keel2@example.com', @replyto_address = N'dba@example.com', @mailserver_name = N'mail.test',
    @port = 587, @enable_ssl = 1, @username = N'keel', @password = N'let me in', @description = N'the other one'
exec sysmail_add_account_sp @account_name = N'second', @email_address = N'x@example.com'
exec sysmail_add_account_sp @account_name = N'third', @email_address = N'x@example.com', @mailserver_type = N'POP3'
exec sysmail_add_account_sp @account_name = N'third', @email_address = N'x@example.com', @password = N'p'
exec sysmail_add_account_sp @account_name = N'third', @email_address = N'x@example.com', @username = N'u', @use_default_credentials = 1
exec sysmail_help_account_sp
exec sysmail_help_account_sp @account_name = N'third'
exec sysmail_help_account_sp @account_id = 77
exec sysmail_help_account_sp @account_id = 1, @account_name = N'second'
select left(name, 13) as name, credential_identity from sys.credentials
GO
-- Profiles
exec sysmail_add_profile_sp @profile_name = N'both', @description = N'one after the other'
exec sysmail_add_profile_sp @profile_name = N'both'
exec sysmail_add_profile_sp @profile_name = N'down'
exec sysmail_add_profileaccount_sp @profile_name = N'both', @account_name = N'first', @sequence_number = 1
exec sysmail_add_profileaccount_sp @profile_name = N'both', @account_name = N'second', @sequence_number = 2
exec sysmail_add_profileaccount_sp @profile_name = N'both', @account_name = N'second', @sequence_number = 3
exec sysmail_add_profileaccount_sp @profile_name = N'down', @account_name = N'first', @sequence_number = 1
exec sysmail_add_profileaccount_sp @profile_name = N'down', @account_name = N'none', @sequence_number = 1
exec sysmail_help_profileaccount_sp @profile_name = N'both'
exec sysmail_help_profile_sp
exec sysmail_add_principalprofile_sp @principal_name = N'public', @profile_name = N'both', @is_default = 1
exec sysmail_add_principalprofile_sp @principal_name = N'nobody', @profile_name = N'both', @is_default = 1
exec sysmail_help_principalprofile_sp
GO
-- Mail: by the second account, as the first one's server is down
declare @id int
exec sp_send_dbmail @recipients = 'ann@example.com; bob@example.com', @subject = N'Hello', @body = N'<b>there</b>', @body_format = 'html', @importance = 'High', @mailitem_id = @id output
select @id
exec settle
select mailitem_id, recipients, subject, body_format, importance, sent_account_id, sent_status from sysmail_allitems
select event_type, description, mailitem_id, account_id from sysmail_event_log order by log_id
GO
-- What is wrong with it
exec sp_send_dbmail @subject = N'to nobody'
exec sp_send_dbmail @recipients = 'ann@example.com'
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N's', @body_format = 'RTF'
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N's', @importance = 'Huge'
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N's', @sensitivity = 'Secret'
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N's', @attach_query_result_as_file = 1
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N's', @query = N'select 1', @execute_query_database = N'nowhere'
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N's', @query = N'select 1 / 0 as x'
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N's', @file_attachments = N'run.EXE'
select count(*) from sysmail_allitems
GO
-- Nobody takes it: tried once, and twice when the configuration says so
exec sp_send_dbmail @profile_name = N'down', @recipients = 'ann@example.com', @subject = N'once', @exclude_query_output = 1
exec settle
exec sysmail_configure_sp N'AccountRetryAttempts', N'2'
exec sysmail_configure_sp N'AccountRetryDelay', N'0'
exec sysmail_configure_sp N'AccountRetryDelay', N'soon'
exec sysmail_configure_sp N'None', N'1'
exec sp_send_dbmail @profile_name = N'down', @recipients = 'ann@example.com', @subject = N'twice', @exclude_query_output = 1
exec settle
select subject, sent_status from sysmail_faileditems
select event_type, description, mailitem_id from sysmail_event_log where mailitem_id > 1 order by log_id
exec sysmail_help_configure_sp
GO
-- A query's results, in the text and as a file
create database shop
GO
create table shop.dbo.item (id int primary key, name nvarchar(20))
insert shop.dbo.item values (1, N'apple'), (20, null)
GO
exec sp_send_dbmail @recipients = 'ann@example.com', @body = N'Items:', @query = N'select * from item; print ''done''', @execute_query_database = N'shop'
exec sp_send_dbmail @recipients = 'ann@example.com', @query = N'set nocount on; select * from item', @execute_query_database = N'shop',
    @attach_query_result_as_file = 1, @query_result_separator = ';', @query_result_no_padding = 1, @query_attachment_filename = N'items.csv'
exec sp_send_dbmail @recipients = 'ann@example.com', @query = N'select replicate(''x'', 30) as x; select 1 / 0 as y', @query_result_header = 0, @query_result_width = 20, @append_query_error = 1
exec settle
select top 3 mailitem_id, subject, body, sent_status from sysmail_allitems order by mailitem_id desc
select filename, filesize, convert(nvarchar(max), substring(attachment, 3, 8000)) from sysmail_mailattachments
GO
-- In a transaction: sent when that ends, or not at all
begin transaction
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N'never', @exclude_query_output = 1
rollback
begin transaction
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N'later', @exclude_query_output = 1
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N'with a program', @file_attachments = N'run.exe'
select @@trancount
waitfor delay '00:00:00.100'
commit
exec settle
select subject, sent_status from sysmail_allitems where subject in (N'never', N'later', N'with a program')
GO
-- One that was tried too often already, as nobody could write what became of it
update sysmail_mailitems set sent_status = 3, attempts = 3, next_attempt = getdate() where subject = N'later'
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N'another', @exclude_query_output = 1
exec settle
select subject, sent_status from sysmail_allitems where subject in (N'another', N'later') order by mailitem_id
GO
-- The password is not here
declare @name sysname = (select credential_name from sysmail_server where account_id = 2), @text nvarchar(max)
set @text = N'drop credential ' + quotename(@name)
exec (@text)
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N'locked', @exclude_query_output = 1
exec settle
select top 2 event_type, description from sysmail_event_log where account_id = 2 order by log_id desc
exec sysmail_update_account_sp @account_name = N'second', @username = N'keel', @password = N'let me in'
select sent_status from sysmail_allitems where subject = N'locked'
GO
-- Stopped and started
exec sysmail_stop_sp
exec sysmail_help_status_sp
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N'stopped'
exec sysmail_start_sp
exec sysmail_help_status_sp
GO
-- Users
create login clerk with password = 'Pass-word-1', check_policy = off
create user clerk
alter role DatabaseMailUserRole add member clerk
GO
execute as login = 'clerk'
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N'by a clerk'
exec sp_send_dbmail @profile_name = N'down', @recipients = 'ann@example.com', @subject = N'not the profile of a clerk'
exec sp_send_dbmail @recipients = 'ann@example.com', @subject = N's', @query = N'select name from item', @execute_query_database = N'shop'
exec sysmail_add_profile_sp @profile_name = N'mine'
select subject, send_request_user from sysmail_allitems
revert
GO
-- Operators: of a job, of an alert, and directly
exec sp_add_operator N'ann', @email_address = N'ann@example.com'
exec sp_add_operator N'mute'
exec sp_notify_operator @name = N'ann', @subject = N'directly', @body = N'x'
exec sp_notify_operator @name = N'mute', @subject = N'directly', @body = N'x'
exec sp_notify_operator @name = N'nobody', @subject = N'directly', @body = N'x'
exec sp_set_sqlagent_properties @use_databasemail = 1, @databasemail_profile = N'both'
exec sp_add_job N'fails', @notify_level_email = 2, @notify_email_operator_name = N'ann'
exec sp_add_jobstep @job_name = N'fails', @step_name = N's', @command = N'select 1 / 0'
exec sp_add_jobserver @job_name = N'fails'
exec sp_start_job N'fails'
declare @till datetime = dateadd(minute, 1, getdate())
while exists (select 1 from sys.dm_keel_agent_jobs) and getdate() < @till waitfor delay '00:00:00.010'
exec settle
select subject, left(body, 19) as begins, right(body, 112) as ends, sent_status from sysmail_allitems where subject like 'SQL Server Job System%'
select operator_id_emailed, message from sysjobhistory where step_id = 0
GO
exec sp_add_alert N'fire', @severity = 16, @include_event_description_in = 1, @notification_message = N'call somebody'
exec sp_add_notification N'fire', N'ann', 1
raiserror ('the house burns', 16, 1) with log
declare @till datetime = dateadd(minute, 1, getdate())
while not exists (select 1 from sysmail_mailitems where subject like 'SQL Server Alert System%') and getdate() < @till waitfor delay '00:00:00.010'
exec settle
select subject, substring(body, 35, 200) as body, sent_status from sysmail_allitems where subject like 'SQL Server Alert System%'
GO
-- Less of everything
exec sysmail_update_account_sp @account_id = 2, @account_name = N'other', @port = 25
exec sysmail_update_profile_sp @profile_name = N'both', @description = N'two'
exec sysmail_update_profileaccount_sp @profile_name = N'both', @account_name = N'other', @sequence_number = 5
exec sysmail_update_principalprofile_sp @principal_name = N'public', @profile_name = N'both', @is_default = 0
exec sysmail_help_profileaccount_sp
exec sysmail_delete_mailitems_sp
exec sysmail_delete_mailitems_sp @sent_status = 'sent'
select subject from sysmail_allitems
exec sysmail_delete_log_sp
select count(*) from sysmail_event_log
exec sysmail_delete_principalprofile_sp @principal_name = N'public', @profile_name = N'both'
exec sysmail_delete_profileaccount_sp @profile_name = N'both'
exec sysmail_delete_profile_sp @profile_name = N'both'
exec sysmail_delete_account_sp @account_name = N'other'
select name from sys.credentials
exec sysmail_help_profile_sp
GO
