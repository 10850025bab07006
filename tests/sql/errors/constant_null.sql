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
