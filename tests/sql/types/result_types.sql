-- Types and nullability of results, which clients see before there is a row.
create procedure #types @text nvarchar(max) as
select string_agg(concat(system_type_name, iif(is_nullable = 1, ' null', '')), ', ') within group (order by column_ordinal) as types
from sys.dm_exec_describe_first_result_set(@text, null, 0)
go
-- An integer literal beside a decimal has as many digits as it is written with, whatever its sign.
exec #types N'select 10.0/3, 10.0/-3, 10.0/cast(3 as int), case when 1=1 then 1 when 1=2 then 100 else 2.5 end, coalesce(1, 2.5)'
exec #types N'select 1 union all select 2.5'
exec #types N'select v from (values (1), (2.5)) t(v)'
exec #types N'select 2147483648, -2147483648, 00000000300, 000000000300'
-- What stands in front in NULLIF is as small as its value.
exec #types N'select nullif(60, 76), nullif(-3, 78), nullif(300, 4), nullif(99999999, 4), nullif(60.0, 76), nullif(cast(60 as int), 7)'
-- A bit takes the decimal's type; one numeric makes the result numeric.
exec #types N'select cast(1 as bit) * cast(2 as decimal(5,2)), cast(1 as decimal(5,2)) + 1.0, cast(1 as decimal(5,2)) + 1'
exec #types N'select replicate(''abcde'', 3), space(3), space(0), stuff(''abcdefghij'', 8, 5, ''XY''), replicate(N''ab'', 5000)'
go
select nullif(60, 76), cast(1 as bit) * cast(2.50 as decimal(5,2)), replicate('abcde', 3), stuff('abcdefghij', 8, 5, 'XY')
select 1 union all select 2.5
go
select convert(varchar(10), -cast(0 as float)), cast(-0.0 as float)
go
select sys.fn_varbintohexstr(0x01AB), master.dbo.fn_varbintohexstr(0xFF), sys.fn_varbintohexsubstring(0, 0x0123ABCDEF, 2, 3), sys.fn_varbintohexstr(null)
go
select fn_varbintohexstr(0x01)
go
-- Operators that types do not have.
select cast(1 as bit) * cast(1 as bit)
go
select cast(1 as bit) + cast(1 as bit)
go
select 0x01 - 0x01
go
select 0x01 & 0x01
go
select 0x01 / 0x01
go
select cast(2 as real) % cast(2 as float)
go
select 0x02 % cast(2 as real)
go
select cast(-32768 as smallint) % cast(-1 as smallint)
go
select cast(-9223372036854775808 as bigint) % -1
go
select cast('a' as foo)
go
select cast(1 as int(4))
go
select cast(newid() as nvarchar(10))
go
select cast(1.5e0 as varchar(2))
go
select convert(varchar(30), $1, 7)
go
select convert(varchar(30), cast(1 as real), 9)
go
select 1 collate Latin1_General_BIN
go
select 'a' collate Latin1_General_BIN collate Latin1_General_CI_AS
go
