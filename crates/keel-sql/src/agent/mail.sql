-- Database Mail: accounts at mail servers, profiles of them, who may use which, what is to be sent and was. The names and columns of
-- tables are the product's; what the postman keeps for itself is behind them.
if object_id('dbo.sysmail_profile') is null
    create table dbo.sysmail_profile (
        profile_id int identity not null primary key,
        name sysname not null unique,
        description nvarchar(256) null,
        last_mod_datetime datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname());
GO
if object_id('dbo.sysmail_account') is null
    create table dbo.sysmail_account (
        account_id int identity not null primary key,
        name sysname not null unique,
        description nvarchar(256) null,
        email_address nvarchar(128) not null,
        display_name nvarchar(128) null,
        replyto_address nvarchar(128) null,
        last_mod_datetime datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname());
GO
if object_id('dbo.sysmail_servertype') is null
begin
    create table dbo.sysmail_servertype (
        servertype sysname not null primary key,
        is_incoming bit not null default 0,
        is_outgoing bit not null default 1,
        last_mod_datetime datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname());
    insert dbo.sysmail_servertype (servertype) values (N'SMTP');
end
GO
if object_id('dbo.sysmail_server') is null
    create table dbo.sysmail_server (
        account_id int not null references dbo.sysmail_account on delete cascade,
        servertype sysname not null references dbo.sysmail_servertype,
        servername sysname not null,
        port int not null default 25,
        username nvarchar(128) null,
        credential_id int null,
        use_default_credentials bit not null default 0,
        enable_ssl bit not null default 0,
        flags int not null default 0,
        timeout int null,
        last_mod_datetime datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname(),
        -- Numbers of credentials are each instance's own, and this table goes to others with a contained group.
        credential_name sysname null,
        primary key (account_id, servertype));
GO
if object_id('dbo.sysmail_profileaccount') is null
    create table dbo.sysmail_profileaccount (
        profile_id int not null references dbo.sysmail_profile on delete cascade,
        account_id int not null references dbo.sysmail_account on delete cascade,
        sequence_number int null,
        last_mod_datetime datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname(),
        primary key (profile_id, account_id));
GO
-- Who is 0x00 is everybody.
if object_id('dbo.sysmail_principalprofile') is null
    create table dbo.sysmail_principalprofile (
        profile_id int not null references dbo.sysmail_profile on delete cascade,
        principal_sid varbinary(85) not null,
        is_default bit not null default 0,
        last_mod_datetime datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname(),
        primary key (profile_id, principal_sid));
GO
if object_id('dbo.sysmail_configuration') is null
begin
    create table dbo.sysmail_configuration (
        paramname nvarchar(256) not null primary key,
        paramvalue nvarchar(256) null,
        description nvarchar(256) null,
        last_mod_datetime datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname());
    insert dbo.sysmail_configuration (paramname, paramvalue, description) values
        (N'AccountRetryAttempts', N'1', N'Number of retry attempts for a mail server'),
        (N'AccountRetryDelay', N'60', N'Delay between each retry attempt to mail server'),
        (N'DatabaseMailExeMinimumLifeTime', N'600', N'Minimum process lifetime in seconds'),
        (N'DefaultAttachmentEncoding', N'MIME', N'Default attachment encoding'),
        (N'LoggingLevel', N'2', N'Database Mail logging level: normal - 1, extended - 2 (default), verbose - 3'),
        (N'MaxFileSize', N'1000000', N'Default maximum file size'),
        (N'ProhibitedExtensions', N'exe,dll,vbs,js', N'Extensions not allowed in outgoing mails');
end
GO
-- Whether mail is sent; one row.
if object_id('dbo.keel_mail') is null
begin
    create table dbo.keel_mail (started bit not null, changed datetime not null);
    insert dbo.keel_mail values (1, getdate());
end
GO
-- sent_status: 0 unsent, 1 sent, 2 failed, 3 is tried again.
if object_id('dbo.sysmail_mailitems') is null
    create table dbo.sysmail_mailitems (
        mailitem_id int identity not null primary key,
        profile_id int not null,
        recipients varchar(max) null,
        copy_recipients varchar(max) null,
        blind_copy_recipients varchar(max) null,
        subject nvarchar(255) null,
        from_address varchar(max) null,
        reply_to varchar(max) null,
        body nvarchar(max) null,
        body_format varchar(20) null,
        importance varchar(6) null,
        sensitivity varchar(12) null,
        file_attachments nvarchar(max) null,
        attachment_encoding varchar(20) null,
        query nvarchar(max) null,
        execute_query_database sysname null,
        attach_query_result_as_file bit null,
        query_result_header bit null,
        query_result_width int null,
        query_result_separator char(1) null,
        exclude_query_output bit null,
        append_query_error bit null,
        send_request_date datetime not null default getdate(),
        send_request_user sysname not null default suser_sname(),
        sent_account_id int null,
        sent_status tinyint null default 0,
        sent_date datetime null,
        last_mod_date datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname(),
        attempts int not null default 0,
        next_attempt datetime null,
        index to_send (sent_status));
GO
if object_id('dbo.sysmail_attachments') is null
    create table dbo.sysmail_attachments (
        attachment_id int identity not null primary key,
        mailitem_id int not null references dbo.sysmail_mailitems on delete cascade,
        filename nvarchar(260) not null,
        filesize int not null,
        attachment varbinary(max) null,
        last_mod_date datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname(),
        index of_item (mailitem_id));
GO
-- event_type: 0 success, 1 information, 2 warning, 3 error.
if object_id('dbo.sysmail_log') is null
    create table dbo.sysmail_log (
        log_id int identity not null primary key,
        event_type int not null,
        log_date datetime not null default getdate(),
        description nvarchar(max) null,
        process_id int null,
        mailitem_id int null,
        account_id int null,
        last_mod_date datetime not null default getdate(),
        last_mod_user sysname not null default suser_sname());
GO
if database_principal_id('DatabaseMailUserRole') is null create role DatabaseMailUserRole
GO
-- What one has sent oneself, or everything.
create or alter view dbo.sysmail_allitems as
select mailitem_id, profile_id, recipients, copy_recipients, blind_copy_recipients, subject, body, body_format, importance, sensitivity,
    file_attachments, attachment_encoding, query, execute_query_database, attach_query_result_as_file, query_result_header,
    query_result_width, query_result_separator, exclude_query_output, append_query_error, send_request_date, send_request_user,
    sent_account_id, case sent_status when 0 then 'unsent' when 1 then 'sent' when 3 then 'retrying' else 'failed' end as sent_status,
    sent_date, last_mod_date, last_mod_user, from_address, reply_to
from dbo.sysmail_mailitems
where send_request_user = suser_sname() or is_srvrolemember('sysadmin') = 1
GO
create or alter view dbo.sysmail_sentitems as select * from dbo.sysmail_allitems where sent_status = 'sent'
GO
create or alter view dbo.sysmail_unsentitems as select * from dbo.sysmail_allitems where sent_status in ('unsent', 'retrying')
GO
create or alter view dbo.sysmail_faileditems as select * from dbo.sysmail_allitems where sent_status = 'failed'
GO
create or alter view dbo.sysmail_mailattachments as
select a.attachment_id, a.mailitem_id, a.filename, a.filesize, a.attachment, a.last_mod_date, a.last_mod_user
from dbo.sysmail_attachments a join dbo.sysmail_allitems i on i.mailitem_id = a.mailitem_id
GO
create or alter view dbo.sysmail_event_log as
select l.log_id, case l.event_type when 0 then 'success' when 1 then 'information' when 2 then 'warning' else 'error' end as event_type,
    l.log_date, l.description, l.process_id, l.mailitem_id, l.account_id, l.last_mod_date, l.last_mod_user
from dbo.sysmail_log l
where is_srvrolemember('sysadmin') = 1 or exists (select 1 from dbo.sysmail_mailitems i where i.mailitem_id = l.mailitem_id and i.send_request_user = suser_sname())
GO
-- By its number, its name, or both.
create or alter procedure dbo.sysmail_verify_account_sp @account_id int output, @account_name sysname output
as
if @account_id is null and @account_name is null
begin
    raiserror (14604, -1, -1, 'account')
    return 1
end
declare @id int = @account_id, @name sysname = @account_name
select @account_id = null
select @account_id = account_id, @account_name = name from dbo.sysmail_account
where account_id = isnull(@id, account_id) and name = isnull(@name, name)
if @account_id is not null return 0
if @id is not null and @name is not null raiserror (14605, -1, -1, 'account')
else if @id is not null raiserror (14606, -1, -1, 'account')
else raiserror (14607, -1, -1, 'account')
return 1
GO
create or alter procedure dbo.sysmail_verify_profile_sp @profile_id int output, @profile_name sysname output
as
if @profile_id is null and @profile_name is null
begin
    raiserror (14604, -1, -1, 'profile')
    return 1
end
declare @id int = @profile_id, @name sysname = @profile_name
select @profile_id = null
select @profile_id = profile_id, @profile_name = name from dbo.sysmail_profile
where profile_id = isnull(@id, profile_id) and name = isnull(@name, name)
if @profile_id is not null return 0
if @id is not null and @name is not null raiserror (14605, -1, -1, 'profile')
else if @id is not null raiserror (14606, -1, -1, 'profile')
else raiserror (14607, -1, -1, 'profile')
return 1
GO
-- Keeps a password as a credential of the instance, which only the server itself reads.
create or alter procedure dbo.sysmail_keep_password_sp @account_id int, @username nvarchar(128), @password nvarchar(128)
as
declare @name sysname, @text nvarchar(max)
select @name = credential_name from dbo.sysmail_server where account_id = @account_id
set @name = isnull(@name, concat(N'DatabaseMail ', newid()))
set @text = iif(exists (select 1 from sys.credentials where name = @name), N'alter', N'create') + N' credential ' + quotename(@name)
    + N' with identity = N''' + replace(@username, N'''', N'''''') + N''', secret = N''' + replace(@password, N'''', N'''''') + N''''
exec (@text)
if @@error <> 0 return 1
update dbo.sysmail_server set credential_name = @name, credential_id = (select credential_id from sys.credentials where name = @name)
where account_id = @account_id
return 0
GO
create or alter procedure dbo.sysmail_add_account_sp
    @account_name sysname, @email_address nvarchar(128), @display_name nvarchar(128) = null, @replyto_address nvarchar(128) = null,
    @description nvarchar(256) = null, @mailserver_name sysname = null, @mailserver_type sysname = N'SMTP', @port int = 25,
    @username nvarchar(128) = null, @password nvarchar(128) = null, @use_default_credentials bit = 0, @enable_ssl bit = 0,
    @account_id int = null output
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
if exists (select 1 from dbo.sysmail_account where name = @account_name)
begin
    raiserror (14261, -1, -1, '@account_name', @account_name)
    return 1
end
if not exists (select 1 from dbo.sysmail_servertype where servertype = @mailserver_type)
begin
    raiserror (14614, -1, -1, @mailserver_type)
    return 1
end
if @use_default_credentials = 1 and @username is not null
begin
    raiserror (14666, -1, -1)
    return 1
end
if @password is not null and @username is null
begin
    raiserror (14615, -1, -1)
    return 1
end
insert dbo.sysmail_account (name, description, email_address, display_name, replyto_address)
values (@account_name, @description, @email_address, @display_name, @replyto_address)
set @account_id = scope_identity()
insert dbo.sysmail_server (account_id, servertype, servername, port, username, use_default_credentials, enable_ssl)
values (@account_id, @mailserver_type, isnull(@mailserver_name, convert(sysname, serverproperty('MachineName'))), @port, @username,
    @use_default_credentials, @enable_ssl)
if @username is null return 0
set @password = isnull(@password, N'')
-- An error ends the call without a status.
set @failed = 1
exec @failed = dbo.sysmail_keep_password_sp @account_id, @username, @password
if @failed = 0 return 0
delete dbo.sysmail_account where account_id = @account_id
return 1
GO
create or alter procedure dbo.sysmail_update_account_sp
    @account_id int = null, @account_name sysname = null, @email_address nvarchar(128) = null, @display_name nvarchar(128) = null,
    @replyto_address nvarchar(128) = null, @description nvarchar(256) = null, @mailserver_name sysname = null,
    @mailserver_type sysname = null, @port int = null, @username sysname = null, @password sysname = null,
    @use_default_credentials bit = null, @enable_ssl bit = null, @timeout int = null, @no_credential_change bit = null
as
set nocount on
declare @failed int, @found sysname
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
-- Of an account that is found by its number the name may be another one from now on.
if @account_id is null
    exec @failed = dbo.sysmail_verify_account_sp @account_id output, @account_name output
else
    exec @failed = dbo.sysmail_verify_account_sp @account_id output, @found output
if @failed <> 0 return 1
if @mailserver_type is not null and not exists (select 1 from dbo.sysmail_servertype where servertype = @mailserver_type)
begin
    raiserror (14614, -1, -1, @mailserver_type)
    return 1
end
if @password is not null and @username is null
begin
    raiserror (14615, -1, -1)
    return 1
end
if @username is not null and isnull(@no_credential_change, 0) = 0
begin
    select @password = isnull(@password, N''), @failed = 1
    exec @failed = dbo.sysmail_keep_password_sp @account_id, @username, @password
    if @failed <> 0 return 1
end
update dbo.sysmail_account set name = isnull(@account_name, name), description = isnull(@description, description),
    email_address = isnull(@email_address, email_address), display_name = isnull(@display_name, display_name),
    replyto_address = isnull(@replyto_address, replyto_address), last_mod_datetime = getdate(), last_mod_user = suser_sname()
where account_id = @account_id
update dbo.sysmail_server set servername = isnull(@mailserver_name, servername), port = isnull(@port, port),
    username = isnull(@username, username),
    use_default_credentials = isnull(@use_default_credentials, use_default_credentials), enable_ssl = isnull(@enable_ssl, enable_ssl),
    timeout = isnull(@timeout, timeout), last_mod_datetime = getdate(), last_mod_user = suser_sname()
where account_id = @account_id
return 0
GO
create or alter procedure dbo.sysmail_delete_account_sp @account_id int = null, @account_name sysname = null
as
set nocount on
declare @failed int, @text nvarchar(max)
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sysmail_verify_account_sp @account_id output, @account_name output
if @failed <> 0 return 1
select @text = N'drop credential ' + quotename(c.name)
from dbo.sysmail_server s join sys.credentials c on c.name = s.credential_name
where s.account_id = @account_id
delete dbo.sysmail_account where account_id = @account_id
if @text is not null exec (@text)
return 0
GO
create or alter procedure dbo.sysmail_help_account_sp @account_id int = null, @account_name sysname = null
as
set nocount on
declare @failed int
if coalesce(convert(nvarchar(10), @account_id), @account_name) is not null
begin
    exec @failed = dbo.sysmail_verify_account_sp @account_id output, @account_name output
    if @failed <> 0 return 1
end
select a.account_id, a.name, a.description, a.email_address, a.display_name, a.replyto_address, s.servertype, s.servername, s.port,
    s.username, s.use_default_credentials, s.enable_ssl
from dbo.sysmail_account a join dbo.sysmail_server s on s.account_id = a.account_id
where @account_id is null or a.account_id = @account_id order by a.account_id
return 0
GO
create or alter procedure dbo.sysmail_add_profile_sp @profile_name sysname, @description nvarchar(256) = null, @profile_id int = null output
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
if exists (select 1 from dbo.sysmail_profile where name = @profile_name)
begin
    raiserror (14261, -1, -1, '@profile_name', @profile_name)
    return 1
end
insert dbo.sysmail_profile (name, description) values (@profile_name, @description)
set @profile_id = scope_identity()
return 0
GO
create or alter procedure dbo.sysmail_update_profile_sp @profile_id int = null, @profile_name sysname = null, @description nvarchar(256) = null
as
set nocount on
declare @failed int, @found sysname
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
if @profile_id is null
    exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
else
    exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @found output
if @failed <> 0 return 1
update dbo.sysmail_profile set name = isnull(@profile_name, name), description = isnull(@description, description),
    last_mod_datetime = getdate(), last_mod_user = suser_sname()
where profile_id = @profile_id
return 0
GO
create or alter procedure dbo.sysmail_delete_profile_sp @profile_id int = null, @profile_name sysname = null, @force_delete bit = 1
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
if @failed <> 0 return 1
if @force_delete <> 1 and exists (select 1 from dbo.sysmail_mailitems where profile_id = @profile_id and sent_status in (0, 3))
begin
    raiserror (14668, -1, -1, @profile_name)
    return 1
end
update dbo.sysmail_mailitems set sent_status = 2, sent_date = getdate() where profile_id = @profile_id and sent_status in (0, 3)
delete dbo.sysmail_profile where profile_id = @profile_id
return 0
GO
create or alter procedure dbo.sysmail_help_profile_sp @profile_id int = null, @profile_name sysname = null
as
set nocount on
declare @failed int
if coalesce(convert(nvarchar(10), @profile_id), @profile_name) is not null
begin
    exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
    if @failed <> 0 return 1
end
select profile_id, name, description from dbo.sysmail_profile where @profile_id is null or profile_id = @profile_id order by profile_id
return 0
GO
create or alter procedure dbo.sysmail_add_profileaccount_sp
    @profile_id int = null, @profile_name sysname = null, @account_id int = null, @account_name sysname = null, @sequence_number int
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
if @failed = 0 exec @failed = dbo.sysmail_verify_account_sp @account_id output, @account_name output
if @failed <> 0 return 1
if exists (select 1 from dbo.sysmail_profileaccount where profile_id = @profile_id and account_id = @account_id)
begin
    raiserror (14261, -1, -1, '@account_name', @account_name)
    return 1
end
insert dbo.sysmail_profileaccount (profile_id, account_id, sequence_number) values (@profile_id, @account_id, @sequence_number)
return 0
GO
create or alter procedure dbo.sysmail_update_profileaccount_sp
    @profile_id int = null, @profile_name sysname = null, @account_id int = null, @account_name sysname = null, @sequence_number int
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
if @failed = 0 exec @failed = dbo.sysmail_verify_account_sp @account_id output, @account_name output
if @failed <> 0 return 1
update dbo.sysmail_profileaccount set sequence_number = @sequence_number, last_mod_datetime = getdate(), last_mod_user = suser_sname()
where profile_id = @profile_id and account_id = @account_id
if @@rowcount = 1 return 0
raiserror (14607, -1, -1, 'profile account')
return 1
GO
create or alter procedure dbo.sysmail_delete_profileaccount_sp
    @profile_id int = null, @profile_name sysname = null, @account_id int = null, @account_name sysname = null
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 and coalesce(convert(nvarchar(10), @profile_id), @profile_name) is not null
    exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
if @failed = 0 and coalesce(convert(nvarchar(10), @account_id), @account_name) is not null
    exec @failed = dbo.sysmail_verify_account_sp @account_id output, @account_name output
if @failed <> 0 return 1
if @profile_id is null and @account_id is null
begin
    raiserror (14604, -1, -1, 'profile')
    return 1
end
delete dbo.sysmail_profileaccount where profile_id = isnull(@profile_id, profile_id) and account_id = isnull(@account_id, account_id)
return 0
GO
create or alter procedure dbo.sysmail_help_profileaccount_sp
    @profile_id int = null, @profile_name sysname = null, @account_id int = null, @account_name sysname = null
as
set nocount on
declare @failed int = 0
if coalesce(convert(nvarchar(10), @profile_id), @profile_name) is not null
    exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
if @failed = 0 and coalesce(convert(nvarchar(10), @account_id), @account_name) is not null
    exec @failed = dbo.sysmail_verify_account_sp @account_id output, @account_name output
if @failed <> 0 return 1
select p.profile_id, p.name as profile_name, a.account_id, a.name as account_name, x.sequence_number
from dbo.sysmail_profileaccount x join dbo.sysmail_profile p on p.profile_id = x.profile_id
    join dbo.sysmail_account a on a.account_id = x.account_id
where x.profile_id = isnull(@profile_id, x.profile_id) and x.account_id = isnull(@account_id, x.account_id)
order by p.profile_id, x.sequence_number, a.account_id
return 0
GO
-- The identifier of a user of msdb; public, and 0, are everybody.
create or alter procedure dbo.sysmail_verify_principal_sp @principal_id int, @principal_name sysname, @sid varbinary(85) output
as
if @principal_id is null and @principal_name is null
begin
    raiserror (14604, -1, -1, 'principal')
    return 1
end
set @sid = case when @principal_id = 0 or @principal_name = N'public' then 0x00
    else (select sid from sys.database_principals where principal_id = isnull(@principal_id, principal_id) and name = isnull(@principal_name, name)) end
if @sid is not null return 0
if @principal_id is not null raiserror (14606, -1, -1, 'principal')
else raiserror (14607, -1, -1, 'principal')
return 1
GO
create or alter procedure dbo.sysmail_add_principalprofile_sp
    @principal_id int = null, @principal_name sysname = null, @profile_id int = null, @profile_name sysname = null, @is_default bit
as
set nocount on
declare @failed int, @sid varbinary(85)
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sysmail_verify_principal_sp @principal_id, @principal_name, @sid output
if @failed = 0 exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
if @failed <> 0 return 1
if exists (select 1 from dbo.sysmail_principalprofile where profile_id = @profile_id and principal_sid = @sid)
begin
    raiserror (14261, -1, -1, '@profile_name', @profile_name)
    return 1
end
if @is_default = 1 update dbo.sysmail_principalprofile set is_default = 0 where principal_sid = @sid
insert dbo.sysmail_principalprofile (profile_id, principal_sid, is_default) values (@profile_id, @sid, @is_default)
return 0
GO
create or alter procedure dbo.sysmail_update_principalprofile_sp
    @principal_id int = null, @principal_name sysname = null, @profile_id int = null, @profile_name sysname = null, @is_default bit
as
set nocount on
declare @failed int, @sid varbinary(85)
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sysmail_verify_principal_sp @principal_id, @principal_name, @sid output
if @failed = 0 exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
if @failed <> 0 return 1
if @is_default = 1 update dbo.sysmail_principalprofile set is_default = 0 where principal_sid = @sid
update dbo.sysmail_principalprofile set is_default = @is_default, last_mod_datetime = getdate(), last_mod_user = suser_sname()
where principal_sid = @sid and profile_id = @profile_id
if @@rowcount = 1 return 0
raiserror (14607, -1, -1, 'principal profile')
return 1
GO
create or alter procedure dbo.sysmail_delete_principalprofile_sp
    @principal_id int = null, @principal_name sysname = null, @profile_id int = null, @profile_name sysname = null
as
set nocount on
declare @failed int, @sid varbinary(85)
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 and coalesce(convert(nvarchar(10), @principal_id), @principal_name) is not null
    exec @failed = dbo.sysmail_verify_principal_sp @principal_id, @principal_name, @sid output
if @failed = 0 and coalesce(convert(nvarchar(10), @profile_id), @profile_name) is not null
    exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
if @failed <> 0 return 1
if @sid is null and @profile_id is null
begin
    raiserror (14604, -1, -1, 'profile')
    return 1
end
delete dbo.sysmail_principalprofile where principal_sid = isnull(@sid, principal_sid) and profile_id = isnull(@profile_id, profile_id)
return 0
GO
create or alter procedure dbo.sysmail_help_principalprofile_sp
    @principal_id int = null, @principal_name sysname = null, @profile_id int = null, @profile_name sysname = null
as
set nocount on
declare @failed int = 0, @sid varbinary(85)
if coalesce(convert(nvarchar(10), @principal_id), @principal_name) is not null
    exec @failed = dbo.sysmail_verify_principal_sp @principal_id, @principal_name, @sid output
if @failed = 0 and coalesce(convert(nvarchar(10), @profile_id), @profile_name) is not null
    exec @failed = dbo.sysmail_verify_profile_sp @profile_id output, @profile_name output
if @failed <> 0 return 1
select iif(x.principal_sid = 0x00, 0, u.principal_id) as principal_id, iif(x.principal_sid = 0x00, N'public', u.name) as principal_name, p.profile_id, p.name as profile_name, x.is_default
from dbo.sysmail_principalprofile x join dbo.sysmail_profile p on p.profile_id = x.profile_id
    left join sys.database_principals u on u.sid = x.principal_sid
where x.principal_sid = isnull(@sid, x.principal_sid) and x.profile_id = isnull(@profile_id, x.profile_id)
order by 1, 3
return 0
GO
create or alter procedure dbo.sysmail_configure_sp @parameter_name nvarchar(256), @parameter_value nvarchar(256), @description nvarchar(256) = null
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
if not exists (select 1 from dbo.sysmail_configuration where paramname = @parameter_name)
    or @parameter_name not in (N'ProhibitedExtensions', N'DefaultAttachmentEncoding') and isnull(try_convert(int, @parameter_value), -1) < 0
begin
    raiserror (14629, -1, -1, @parameter_name)
    return 1
end
update dbo.sysmail_configuration set paramvalue = @parameter_value, description = isnull(@description, description),
    last_mod_datetime = getdate(), last_mod_user = suser_sname()
where paramname = @parameter_name
return 0
GO
create or alter procedure dbo.sysmail_help_configure_sp @parameter_name nvarchar(256) = null
as
set nocount on
select paramname, paramvalue, description from dbo.sysmail_configuration
where @parameter_name is null or paramname = @parameter_name order by paramname
return 0
GO
create or alter procedure dbo.sysmail_start_sp
as
set nocount on
declare @failed int, @login sysname = suser_sname()
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
update dbo.keel_mail set started = 1, changed = getdate()
insert dbo.sysmail_log (event_type, description) values (1, N'The mail queue was started by login "' + @login + N'".')
exec master.dbo.xp_sqlagent_notify N'M'
return 0
GO
create or alter procedure dbo.sysmail_stop_sp
as
set nocount on
declare @failed int, @login sysname = suser_sname()
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
update dbo.keel_mail set started = 0, changed = getdate()
insert dbo.sysmail_log (event_type, description) values (1, N'The mail queue stopped by login "' + @login + N'".')
return 0
GO
create or alter procedure dbo.sysmail_help_status_sp
as
set nocount on
select iif(started = 1, N'STARTED', N'STOPPED') as Status from dbo.keel_mail
return 0
GO
create or alter procedure dbo.sysmail_help_queue_sp @queue_type nvarchar(6) = null
as
set nocount on
select convert(nvarchar(6), N'mail') as queue_type, (select count(*) from dbo.sysmail_mailitems where sent_status in (0, 3)) as length,
    iif(started = 1, N'RECEIVES_OCCURRING', N'INACTIVE') as state, changed as last_empty_rowset_time, changed as last_activated_time
from dbo.keel_mail where isnull(@queue_type, N'mail') = N'mail'
return 0
GO
create or alter procedure dbo.sysmail_delete_mailitems_sp @sent_before datetime = null, @sent_status varchar(8) = null
as
set nocount on
declare @failed int, @status int
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
if @sent_before is null and @sent_status is null
begin
    raiserror (14608, -1, -1, '@sent_before', '@sent_status')
    return 1
end
set @status = case @sent_status when 'unsent' then 0 when 'sent' then 1 when 'failed' then 2 when 'retrying' then 3 end
if @sent_status is not null and @status is null
begin
    raiserror (14266, -1, -1, '@sent_status', 'unsent, sent, failed, retrying')
    return 1
end
delete dbo.sysmail_mailitems where send_request_date < isnull(@sent_before, '9999-12-31') and (@status is null or sent_status = @status)
declare @description nvarchar(max) = concat(N'Mail items deletion is initiated by user "', suser_sname(), N'". ', @@rowcount, N' items deleted.')
insert dbo.sysmail_log (event_type, description) values (1, @description)
return 0
GO
create or alter procedure dbo.sysmail_delete_log_sp @logged_before datetime = null, @event_type varchar(15) = null
as
set nocount on
declare @failed int, @type int = case @event_type when 'success' then 0 when 'information' then 1 when 'warning' then 2 when 'error' then 3 end
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
if @event_type is not null and @type is null
begin
    raiserror (14266, -1, -1, '@event_type', 'success, warning, error, information')
    return 1
end
delete dbo.sysmail_log where log_date < isnull(@logged_before, '9999-12-31') and (@type is null or event_type = @type)
return 0
GO
-- The profile that the caller may use: the one named, or the caller's default, or everybody's.
create or alter procedure dbo.sysmail_find_profile_sp @profile_name sysname, @profile_id int output
as
declare @admin bit = iif(is_srvrolemember('sysadmin') = 1, 1, 0)
set @profile_id = null
if @profile_name is null
begin
    select top 1 @profile_id = profile_id from dbo.sysmail_principalprofile
    where is_default = 1 and principal_sid in (suser_sid(), 0x00) order by iif(principal_sid = 0x00, 1, 0)
    if @profile_id is not null return 0
    raiserror (14636, -1, -1)
    return 1
end
select @profile_id = p.profile_id from dbo.sysmail_profile p
where p.name = @profile_name and (@admin = 1
    or exists (select 1 from dbo.sysmail_principalprofile x where x.profile_id = p.profile_id and x.principal_sid in (suser_sid(), 0x00)))
if @profile_id is not null return 0
raiserror (14607, -1, -1, 'profile')
return 1
GO
-- Puts files of the server's machine with a mail: whoever sends it must be allowed to read them.
create or alter procedure dbo.sysmail_attach_files_sp @mailitem_id int, @files nvarchar(max)
as
declare @file nvarchar(260), @extension nvarchar(260), @text nvarchar(max), @bytes varbinary(max), @max int
declare @prohibited nvarchar(max) = (select paramvalue from dbo.sysmail_configuration where paramname = N'ProhibitedExtensions')
select @max = convert(int, paramvalue) from dbo.sysmail_configuration where paramname = N'MaxFileSize'
declare each_file cursor local static for select trim(value) from string_split(@files, N';', 1) where trim(value) <> N'' order by ordinal
open each_file
fetch next from each_file into @file
while @@fetch_status = 0
begin
    set @extension = iif(charindex(N'.', @file) = 0, N'', right(@file, charindex(N'.', reverse(@file)) - 1))
    if exists (select 1 from string_split(@prohibited, N',') where trim(value) = @extension and @extension <> N'')
    begin
        raiserror (14630, -1, -1, @extension)
        return 1
    end
    set @text = N'select @bytes = x.BulkColumn from openrowset(bulk N''' + replace(@file, N'''', N'''''') + N''', single_blob) as x'
    exec sp_executesql @text, N'@bytes varbinary(max) output', @bytes output
    if @@error <> 0 return 1
    if datalength(@bytes) > @max
    begin
        raiserror (22050, -1, -1, @max)
        return 1
    end
    set @file = right(@file, isnull(nullif(patindex(N'%[/\]%', reverse(@file)), 0) - 1, len(@file)))
    insert dbo.sysmail_attachments (mailitem_id, filename, filesize, attachment) values (@mailitem_id, @file, datalength(@bytes), @bytes)
    fetch next from each_file into @file
end
return 0
GO
create or alter procedure dbo.sp_send_dbmail
    @profile_name sysname = null, @recipients varchar(max) = null, @copy_recipients varchar(max) = null,
    @blind_copy_recipients varchar(max) = null, @subject nvarchar(255) = null, @body nvarchar(max) = null, @body_format varchar(20) = null,
    @importance varchar(6) = 'NORMAL', @sensitivity varchar(12) = 'NORMAL', @file_attachments nvarchar(max) = null,
    @query nvarchar(max) = null, @execute_query_database sysname = null, @attach_query_result_as_file bit = 0,
    @query_attachment_filename nvarchar(260) = null, @query_result_header bit = 1, @query_result_width int = 256,
    @query_result_separator char(1) = ' ', @exclude_query_output bit = 0, @append_query_error bit = 0, @query_no_truncate bit = 0,
    @query_result_no_padding bit = 0, @mailitem_id int = null output, @from_address varchar(max) = null, @reply_to varchar(max) = null
as
set nocount on
declare @failed int, @profile_id int, @results nvarchar(max), @query_failed bit, @max int
if not exists (select 1 from sys.configurations where name = N'Database Mail XPs' and value_in_use = 1)
begin
    raiserror (15281, 16, 1, 'dbo.sp_send_dbmail', 'Database Mail XPs', 'Database Mail XPs', 'Database Mail XPs', 'Database Mail XPs')
    return 1
end
if exists (select 1 from dbo.keel_mail where started = 0)
begin
    raiserror (14641, -1, -1)
    return 1
end
exec @failed = dbo.sysmail_find_profile_sp @profile_name, @profile_id output
if @failed <> 0 return 1
if coalesce(nullif(@recipients, ''), nullif(@copy_recipients, ''), nullif(@blind_copy_recipients, '')) is null
begin
    raiserror (14624, -1, -1, '@recipients, @copy_recipients, @blind_copy_recipients')
    return 2
end
if @body is null and @query is null and @file_attachments is null and @subject is null
begin
    raiserror (14624, -1, -1, '@body, @query, @file_attachments, @subject')
    return 3
end
select @subject = isnull(@subject, N'SQL Server Message'), @body_format = isnull(upper(@body_format), 'TEXT'),
    @importance = isnull(upper(@importance), 'NORMAL'), @sensitivity = isnull(upper(@sensitivity), 'NORMAL')
if @body_format not in ('TEXT', 'HTML')
begin
    raiserror (14626, -1, -1, @body_format)
    return 13
end
if @importance not in ('LOW', 'NORMAL', 'HIGH')
begin
    raiserror (14622, -1, -1, @importance)
    return 15
end
if @sensitivity not in ('NORMAL', 'PERSONAL', 'PRIVATE', 'CONFIDENTIAL')
begin
    raiserror (14623, -1, -1, @sensitivity)
    return 16
end
if @query is null and @attach_query_result_as_file = 1
begin
    raiserror (14625, -1, -1)
    return 4
end
if @query is not null
begin
    set @execute_query_database = coalesce(@execute_query_database, nullif(original_db_name(), N''), db_name())
    if db_id(@execute_query_database) is null
    begin
        raiserror (14633, -1, -1, @execute_query_database)
        return 20
    end
    -- An error ends the call without a status.
    set @failed = 1
    exec @failed = master.sys.sp_keel_mail_query @query, @execute_query_database, @query_result_header, @query_result_width,
        @query_result_separator, @query_no_truncate, @query_result_no_padding, @results output, @query_failed output
    if @failed <> 0 return 1
    if @query_failed = 1 and @append_query_error = 0
    begin
        raiserror (14661, -1, -1, @results)
        return 22
    end
    select @max = convert(int, paramvalue) from dbo.sysmail_configuration where paramname = N'MaxFileSize'
    if @attach_query_result_as_file = 1 and datalength(@results) > @max
    begin
        raiserror (22050, -1, -1, @max)
        return 1
    end
end
-- What is begun here is all that is taken back here.
declare @outer int = @@trancount
if @outer = 0 begin transaction else save transaction send_dbmail
insert dbo.sysmail_mailitems (profile_id, recipients, copy_recipients, blind_copy_recipients, subject, from_address, reply_to, body,
    body_format, importance, sensitivity, file_attachments, attachment_encoding, query, execute_query_database,
    attach_query_result_as_file, query_result_header, query_result_width, query_result_separator, exclude_query_output,
    append_query_error, sent_status)
values (@profile_id, @recipients, @copy_recipients, @blind_copy_recipients, @subject, @from_address, @reply_to,
    iif(@query is not null and @attach_query_result_as_file = 0, isnull(@body + nchar(13) + nchar(10), N'') + isnull(@results, N''), @body),
    @body_format, @importance, @sensitivity, @file_attachments, 'MIME', @query, @execute_query_database,
    @attach_query_result_as_file, @query_result_header, @query_result_width, @query_result_separator, @exclude_query_output,
    @append_query_error, 0)
set @mailitem_id = scope_identity()
if @query is not null and @attach_query_result_as_file = 1
begin
    -- As files of Unicode text are on the product's machines.
    declare @bytes varbinary(max) = 0xFFFE + convert(varbinary(max), isnull(@results, N''))
    insert dbo.sysmail_attachments (mailitem_id, filename, filesize, attachment)
    values (@mailitem_id, isnull(@query_attachment_filename, concat(N'QueryResults', @mailitem_id, N'.txt')), datalength(@bytes), @bytes)
end
if @file_attachments is not null
begin
    set @failed = 1
    exec @failed = dbo.sysmail_attach_files_sp @mailitem_id, @file_attachments
    if @failed <> 0
    begin
        if @outer = 0 rollback transaction else if xact_state() = 1 rollback transaction send_dbmail
        return 1
    end
end
if @outer = 0 commit transaction
exec master.dbo.xp_sqlagent_notify N'M'
if @exclude_query_output = 0 print concat('Mail (Id: ', @mailitem_id, ') queued.')
return 0
GO
-- A mail of the agent's to an operator, by the profile that the agent has. @mailed tells whether there was one to send.
create or alter procedure dbo.sp_keel_mail_operator @operator_id int, @subject nvarchar(255), @body nvarchar(max), @mailed bit = 0 output
as
set nocount on
declare @address nvarchar(100), @profile_id int
set @mailed = 0
select @address = email_address from dbo.sysoperators where id = @operator_id and enabled = 1 and email_address <> N''
select @profile_id = p.profile_id
from dbo.keel_agent_properties a join dbo.sysmail_profile p on p.name = a.databasemail_profile
where a.use_databasemail = 1
if @address is null or @profile_id is null return 0
insert dbo.sysmail_mailitems (profile_id, recipients, subject, body, body_format, importance, sensitivity, attachment_encoding, sent_status)
values (@profile_id, @address, @subject, @body, 'TEXT', 'NORMAL', 'NORMAL', 'MIME', 0)
update dbo.sysoperators set last_email_date = convert(int, convert(char(8), getdate(), 112)),
    last_email_time = convert(int, replace(convert(char(8), getdate(), 108), ':', ''))
where id = @operator_id
set @mailed = 1
exec master.dbo.xp_sqlagent_notify N'M'
return 0
GO
create or alter procedure dbo.sp_notify_operator
    @profile_name sysname = null, @id int = null, @name sysname = null, @subject nvarchar(256) = null, @body nvarchar(max) = null,
    @file_attachments nvarchar(512) = null, @mail_database sysname = N'msdb'
as
set nocount on
declare @address nvarchar(100), @enabled int, @failed int
if @id is null and @name is null
begin
    raiserror (14624, -1, -1, '@id, @name')
    return 1
end
select @address = email_address, @enabled = enabled, @name = name from dbo.sysoperators
where id = isnull(@id, id) and name = isnull(@name, name)
if @enabled is null
begin
    declare @which sysname = isnull(@name, convert(sysname, @id))
    raiserror (14262, -1, -1, 'operator', @which)
    return 1
end
if @enabled = 0
begin
    raiserror (14601, -1, -1, @name)
    return 1
end
if isnull(@address, N'') = N''
begin
    raiserror (14602, -1, -1, @name)
    return 1
end
exec @failed = dbo.sp_send_dbmail @profile_name = @profile_name, @recipients = @address, @subject = @subject, @body = @body,
    @file_attachments = @file_attachments
return @failed
GO
grant select on dbo.sysmail_allitems to DatabaseMailUserRole;
grant select on dbo.sysmail_sentitems to DatabaseMailUserRole;
grant select on dbo.sysmail_unsentitems to DatabaseMailUserRole;
grant select on dbo.sysmail_faileditems to DatabaseMailUserRole;
grant select on dbo.sysmail_mailattachments to DatabaseMailUserRole;
grant select on dbo.sysmail_event_log to DatabaseMailUserRole;
grant execute on dbo.sp_send_dbmail to DatabaseMailUserRole;
grant execute on dbo.sysmail_help_status_sp to DatabaseMailUserRole
GO
