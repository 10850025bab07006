-- Principals without a login have sids of their own.
create user nologin without login
create role helpers
GO
select name, datalength(sid) bytes, convert(varbinary(12), sid) begins, default_schema_name
from sys.database_principals where name in ('public', 'dbo', 'guest', 'sys', 'nologin', 'helpers', 'db_owner') order by principal_id
select name, sid from sys.database_principals where name in ('public', 'db_owner')
select count(distinct sid) n from sys.database_principals where name in ('nologin', 'helpers')
GO
drop user nologin
drop role helpers
GO
-- Tables whose values may be kept apart.
create table lobs (a varchar(max))
create table no_lobs (a varchar(8000))
select name, lob_data_space_id from sys.tables where name in ('lobs', 'no_lobs') order by name
drop table lobs, no_lobs
GO
-- A restarted sequence has given out nothing.
create sequence s as int start with 5
select next value for s n
alter sequence s restart with 100
select start_value, current_value, last_used_value from sys.sequences where name = 's'
select next value for s n
select start_value, current_value, last_used_value from sys.sequences where name = 's'
drop sequence s
GO
-- The zones that AT TIME ZONE knows.
select count(*) n from sys.time_zone_info
select name, current_utc_offset, is_currently_dst from sys.time_zone_info where name in ('UTC', 'India Standard Time')
GO
-- Names of constraints that have none: nine characters of the table and five of the column, eight in names of keys.
create table abcdefghijkl (abcdefgh int primary key, b int default 1, c int unique, bcdefgh int check (bcdefgh > 1), check (c > b))
select left(name, len(name) - 8) name from sys.objects where parent_object_id = object_id('abcdefghijkl') order by name
drop table abcdefghijkl
GO
