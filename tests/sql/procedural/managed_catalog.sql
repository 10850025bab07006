-- What .NET's SqlConnection.GetSchema asks for.
create table t (a int constraint pk primary key, b nvarchar(20) collate Latin1_General_BIN2 not null default 'x', c decimal(9, 2))
create index ix on t (b, a desc) include (c)
GO
create view v as select a, c from t
GO
declare @catalog sysname = db_name()
exec sys.sp_columns_managed @catalog, null, 't', null, 0
exec sys.sp_columns_managed null, 'dbo', 'v', 'c', 1
exec sys.sp_columns_managed null, null, 't', null, 2
exec sys.sp_indexes_managed @catalog, null, 't', null
exec sys.sp_indexcolumns_managed null, 'dbo', 't', null, null
GO
-- Procedures of the system are found as well.
create table #found (q sysname, o sysname, n nvarchar(134), i int, p int, r int, m varchar(254) null, t smallint)
insert #found exec sp_stored_procedures 'sp_help'
select o, n from #found
drop view v
drop table t, #found
GO
-- And GetSchema("Users").
create user somebody without login
create role some_role
GO
select uid, name as user_name, createdate, updatedate into #users from sysusers where (name = null or (null is null))
select user_name from #users where user_name in ('dbo', 'guest', 'somebody', 'some_role') and createdate <= updatedate and updatedate is not null
select name, status, altuid, iif(issqlrole = 1, iif(gid = uid, 'own', 'other'), 'none') as gid, hasdbaccess, islogin, issqluser, issqlrole, isapprole from sysusers
where name in ('dbo', 'guest', 'somebody', 'some_role', 'public') order by name
drop user somebody
drop role some_role
drop table #users
