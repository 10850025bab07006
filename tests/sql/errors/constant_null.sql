-- What is refused although it could be read as NULL or ignored.
select nullif(null, 2)
go
select percentile_cont(0.5) within group (order by object_id) over (order by object_id) from sys.objects
go
select percentile_disc(0.5) within group (order by object_id) over (partition by type order by object_id) from sys.objects
go
select row_number() over (order by object_id rows unbounded preceding) from sys.objects
go
select convert(varbinary(10), 'abc', 3)
go
select 1 where cast('2020-01-01' as date) = cast('10:00' as time)
go
select 1 where cast('10:00' as time) >= cast('2020-01-01' as datetime)
go
exec sp_prepexec
go
declare @h int; exec sp_prepare @h output, N'@a int'
go
declare @c int; exec sp_cursoropen @c output, N'select 1'
if @c is not null exec sp_cursorclose @c
go
select coalesce(null, null)
go
select substring(null, 1, 2)
go
select substring(12345, 1, 2)
go
select atn2(0, 0)
go
select switchoffset('9999-12-31 23:12:00.123 +00:00', '+12:00')
go
select todatetimeoffset(cast('0001-01-01' as datetime2), '+12:00')
go
select * from openjson('{"a":{"b":1}}') with (a varchar(10) as json)
go
delete top 2 from t
go
create sequence s start with 5 minvalue 10
go
create sequence s minvalue 10 maxvalue 10
go
create sequence s increment by 0
go
create table t (a int)
go
create trigger one on t instead of insert, update as return
go
create trigger two on t instead of delete, update as return
go
alter trigger one on t instead of insert as return
go
