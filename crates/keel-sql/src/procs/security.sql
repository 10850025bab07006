create procedure sys.sp_helpuser @name_in_db sysname = null
as
set nocount on
if @name_in_db is not null and not exists (select 1 from sys.database_principals where name = @name_in_db)
begin
    raiserror(15198, 16, 1, @name_in_db)
    return 1
end
if exists (select 1 from sys.database_principals where name = @name_in_db and type = 'R')
    select r.name as Role_name, r.principal_id as Role_id, m.name as Users_in_role, m.principal_id as Userid
    from sys.database_role_members x join sys.database_principals r on r.principal_id = x.role_principal_id
        join sys.database_principals m on m.principal_id = x.member_principal_id
    where r.name = @name_in_db order by 3
else
    select u.name as UserName, isnull(r.name, 'public') as RoleName, l.name as LoginName, l.default_database_name as DefDBName,
        u.default_schema_name as DefSchemaName, convert(char(10), u.principal_id) as UserID, u.sid as SID
    from sys.database_principals u left join sys.server_principals l on l.sid = u.sid and l.type in ('S', 'U', 'G')
        left join sys.database_role_members x on x.member_principal_id = u.principal_id
        left join sys.database_principals r on r.principal_id = x.role_principal_id
    where u.type <> 'R' and (@name_in_db is null or u.name = @name_in_db) order by 1, 2
return 0
GO
create procedure sys.sp_helprotect @name nvarchar(776) = null, @username sysname = null, @grantorname sysname = null,
    @permissionarea varchar(10) = 'o s'
as
set nocount on
if @permissionarea not like '%[os]%'
begin
    raiserror(15300, 11, 1, @permissionarea, 'o,s')
    return 1
end
declare @found table (owner sysname null, object sysname null, grantee sysname, grantor sysname, protecttype nvarchar(10), action nvarchar(128),
    [column] sysname null, at int)
insert @found
select case p.class when 1 then object_schema_name(p.major_id) else '.' end, case p.class when 1 then object_name(p.major_id) else '.' end,
    u.name, g.name, case p.state when 'W' then 'Grant_WGO' when 'G' then 'Grant' when 'D' then 'Deny' else 'Revoke' end,
    case p.class when 1 then upper(left(p.permission_name, 1)) + lower(substring(p.permission_name, 2, 127)) else p.permission_name end,
    case when p.class <> 1 or p.permission_name not in ('SELECT', 'UPDATE', 'REFERENCES') then '.' when p.minor_id = 0 then '(All+New)'
        else col_name(p.major_id, p.minor_id) end, p.minor_id
from sys.database_permissions p join sys.database_principals u on u.principal_id = p.grantee_principal_id
    join sys.database_principals g on g.principal_id = p.grantor_principal_id
where (p.class = 1 and p.major_id > 0 and charindex('o', @permissionarea) > 0 or p.class = 0 and charindex('s', @permissionarea) > 0)
    and (@name is null or p.class = 1 and p.major_id = object_id(@name) or p.class = 0 and p.permission_name = @name)
    and (@username is null or u.name = @username) and (@grantorname is null or g.name = @grantorname)
if not exists (select 1 from @found)
begin
    raiserror(15330, 11, 1)
    return 1
end
select owner as Owner, object as Object, grantee as Grantee, grantor as Grantor, protecttype as ProtectType, action as Action,
    [column] as [Column]
from @found order by case owner when '.' then 1 else 0 end, owner, object, grantee, grantor, protecttype, action, at
return 0
GO
create procedure sys.sp_table_privileges @table_name nvarchar(384), @table_owner nvarchar(384) = null,
    @table_qualifier sysname = null, @fUsePattern bit = 1
as
select convert(sysname, db_name()) as TABLE_QUALIFIER, convert(sysname, schema_name(t.schema_id)) as TABLE_OWNER,
    convert(sysname, t.name) as TABLE_NAME, x.grantor as GRANTOR, x.grantee as GRANTEE, convert(varchar(32), x.privilege) as PRIVILEGE,
    convert(varchar(3), x.grantable) as IS_GRANTABLE
from sys.objects t cross apply (
    select convert(sysname, 'dbo') as grantor, convert(sysname, 'dbo') as grantee, p.privilege, 'YES' as grantable
    from (values ('DELETE'), ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) p (privilege)
    union
    select g.name, u.name, p.permission_name, case p.state when 'W' then 'YES' else 'NO' end
    from sys.database_permissions p join sys.database_principals u on u.principal_id = p.grantee_principal_id
        join sys.database_principals g on g.principal_id = p.grantor_principal_id
    where p.class = 1 and p.major_id = t.object_id and p.minor_id = 0 and p.state in ('G', 'W')
        and p.permission_name in ('DELETE', 'INSERT', 'REFERENCES', 'SELECT', 'UPDATE')) x
where t.type in ('U', 'V') and (@table_qualifier is null or @table_qualifier = db_name())
    and (@fUsePattern = 1 and t.name like @table_name escape '\' or t.name = @table_name)
    and (@table_owner is null or @fUsePattern = 1 and schema_name(t.schema_id) like @table_owner escape '\'
        or schema_name(t.schema_id) = @table_owner)
order by 1, 2, 3, 6, 5
GO
create procedure sys.sp_column_privileges @table_name sysname, @table_owner sysname = null, @table_qualifier sysname = null,
    @column_name nvarchar(384) = null
as
select convert(sysname, db_name()) as TABLE_QUALIFIER, convert(sysname, schema_name(t.schema_id)) as TABLE_OWNER,
    convert(sysname, t.name) as TABLE_NAME, convert(sysname, c.name) as COLUMN_NAME, x.grantor as GRANTOR, x.grantee as GRANTEE,
    convert(varchar(32), x.privilege) as PRIVILEGE, convert(varchar(3), max(x.grantable)) as IS_GRANTABLE
from sys.objects t join sys.columns c on c.object_id = t.object_id cross apply (
    select convert(sysname, 'dbo') as grantor, convert(sysname, 'dbo') as grantee, p.privilege, 'YES' as grantable
    from (values ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) p (privilege)
    union
    select g.name, u.name, p.permission_name, case p.state when 'W' then 'YES' else 'NO' end
    from sys.database_permissions p join sys.database_principals u on u.principal_id = p.grantee_principal_id
        join sys.database_principals g on g.principal_id = p.grantor_principal_id
    where p.class = 1 and p.major_id = t.object_id and p.minor_id in (0, c.column_id) and p.state in ('G', 'W')
        and p.permission_name in ('INSERT', 'REFERENCES', 'SELECT', 'UPDATE')) x
where t.type in ('U', 'V') and t.name = @table_name and (@table_owner is null or schema_name(t.schema_id) = @table_owner)
    and (@table_qualifier is null or @table_qualifier = db_name()) and (@column_name is null or c.name like @column_name escape '\')
group by t.schema_id, t.name, c.name, x.grantor, x.grantee, x.privilege
order by 1, 2, 3, 4, 7, 6
GO
create procedure sys.sp_change_users_login @Action varchar(10), @UserNamePattern sysname = null, @LoginName sysname = null,
    @Password sysname = null
as
declare @kind nvarchar(10) = upper(@Action), @sql nvarchar(max), @made int = 0, @linked int = 0
if is_member('db_owner') = 0
begin
    raiserror(15247, -1, -1)
    return 1
end
if @kind not in ('REPORT', 'UPDATE_ONE', 'AUTO_FIX')
begin
    raiserror(15286, -1, -1, @Action)
    return 1
end
if @kind = 'REPORT'
begin
    select name as UserName, sid as UserSID from sys.database_principals
    where type = 'S' and authentication_type = 1 and principal_id > 4 and suser_sname(sid) is null order by name
    return 0
end
if not exists (select * from sys.database_principals where name = @UserNamePattern and type = 'S')
begin
    raiserror(15291, -1, -1, 'User', @UserNamePattern)
    return 1
end
set @LoginName = iif(@kind = 'AUTO_FIX', @UserNamePattern, @LoginName)
if suser_id(@LoginName) is null
begin
    if @kind = 'UPDATE_ONE' or @Password is null
    begin
        raiserror(15291, -1, -1, 'Login', @LoginName)
        return 1
    end
    raiserror(15293, -1, -1, @UserNamePattern)
    set @sql = N'create login ' + quotename(@LoginName) + N' with password = ' + quotename(@Password, '''')
    exec sp_executesql @sql
    if @@error <> 0 return 1
    set @made = 1
end
else if @kind = 'AUTO_FIX'
begin
    raiserror(15292, -1, -1, @UserNamePattern)
    set @linked = 1
end
set @sql = N'alter user ' + quotename(@UserNamePattern) + N' with login = ' + quotename(@LoginName)
exec sp_executesql @sql
if @@error <> 0 return 1
if @kind = 'AUTO_FIX'
begin
    raiserror(15295, -1, -1, @linked)
    raiserror(15294, -1, -1, @made)
end
return 0
GO
create procedure sys.sp_helprole @rolename sysname = null
as
set nocount on
if @rolename is not null and not exists (select 1 from sys.database_principals where name = @rolename and type in ('R', 'A'))
begin
    raiserror('''%s'' is not a role.', 16, 1, @rolename)
    return 1
end
select name as RoleName, principal_id as RoleId, case type when 'A' then 1 else 0 end as IsAppRole
from sys.database_principals where type in ('R', 'A') and (@rolename is null or name = @rolename) order by principal_id
return 0
GO
create procedure sys.sp_helpdbfixedrole @rolename sysname = null
as
set nocount on
declare @roles table (at int identity, name sysname, description nvarchar(70))
insert @roles values ('db_owner', 'DB Owners'), ('db_accessadmin', 'DB Access Administrators'), ('db_securityadmin', 'DB Security Administrators'),
    ('db_ddladmin', 'DB DDL Administrators'), ('db_backupoperator', 'DB Backup Operator'), ('db_datareader', 'DB Data Reader'),
    ('db_datawriter', 'DB Data Writer'), ('db_denydatareader', 'DB Deny Data Reader'), ('db_denydatawriter', 'DB Deny Data Writer')
if @rolename is not null and not exists (select 1 from @roles where name = @rolename)
begin
    raiserror(15412, 11, 1, @rolename)
    return 1
end
select name as DbFixedRole, description as Description from @roles where @rolename is null or name = @rolename order by at
return 0
GO
create procedure sys.sp_changeobjectowner @objname nvarchar(776), @newowner sysname
as
set nocount on
declare @id int = object_id(@objname), @schema sysname, @name sysname, @text nvarchar(max)
select @schema = schema_name(schema_id), @name = name from sys.objects where object_id = @id and type in ('U', 'V', 'P', 'FN', 'IF', 'TF', 'SN', 'SO')
if @name is null
begin
    raiserror(15001, 16, 1, @objname)
    return 1
end
if schema_id(@newowner) is null
begin
    raiserror(15411, 11, 1, @newowner)
    return 1
end
set @text = N'alter schema ' + quotename(@newowner) + N' transfer object::' + quotename(@schema) + N'.' + quotename(@name)
exec (@text)
if @@error <> 0 return 1
raiserror(15477, 0, 1)
return 0
GO
create procedure sys.sp_grantlogin @loginame sysname
as
declare @sql nvarchar(max)
if not exists (select 1 from sys.server_principals where name = @loginame and type in ('U', 'G'))
begin
    set @sql = N'create login ' + quotename(@loginame) + N' from windows'
    exec (@sql)
    return @@error
end
set @sql = N'grant connect sql to ' + quotename(@loginame)
exec (@sql)
return @@error
GO
create procedure sys.sp_denylogin @loginame sysname
as
declare @sql nvarchar(max)
if not exists (select 1 from sys.server_principals where name = @loginame and type in ('U', 'G'))
begin
    set @sql = N'create login ' + quotename(@loginame) + N' from windows'
    exec (@sql)
    if @@error <> 0 return 1
end
set @sql = N'deny connect sql to ' + quotename(@loginame)
exec (@sql)
return @@error
GO
create procedure sys.sp_revokelogin @loginame sysname
as
if not exists (select 1 from sys.server_principals where name = @loginame and type in ('U', 'G'))
begin
    raiserror(15401, 11, 1, @loginame)
    return 1
end
declare @sql nvarchar(max) = N'drop login ' + quotename(@loginame)
exec (@sql)
return @@error
GO
create procedure sys.sp_addapprole @rolename sysname, @password sysname
as
declare @sql nvarchar(max) = N'create application role ' + quotename(@rolename) + N' with password = ' + quotename(@password, '''')
exec sp_executesql @sql
return @@error
GO
create procedure sys.sp_dropapprole @rolename sysname
as
declare @sql nvarchar(max) = N'drop application role ' + quotename(@rolename)
exec sp_executesql @sql
return @@error
GO
create procedure sys.sp_approlepassword @rolename sysname, @newpwd sysname
as
declare @sql nvarchar(max) = N'alter application role ' + quotename(@rolename) + N' with password = ' + quotename(@newpwd, '''')
exec sp_executesql @sql
return @@error
