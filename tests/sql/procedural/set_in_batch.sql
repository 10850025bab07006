-- ANSI_NULLS and CONCAT_NULL_YIELDS_NULL hold from where they are set, in the same batch too; a module keeps its ANSI_NULLS.
create table t (a int); insert t values (1), (null)
go
set ansi_nulls off
select a from t where a = null
set ansi_nulls on
select a from t where a = null
declare @none int
if @none = null print 'equal' else print 'unknown'
set ansi_nulls off
if @none = null print 'equal' else print 'unknown'
go
create procedure old as select a from t where a = null
go
set ansi_nulls on
exec old
go
set concat_null_yields_null off
select 'a' + null as constants, 'a' + cast(null as varchar(5)) as strings, null + N'b' as front
set concat_null_yields_null on
select 'a' + null as constants, 'a' + cast(null as varchar(5)) as strings, null + N'b' as front
go
create procedure joined @a varchar(5) as declare @b varchar(10) = 'x' + @a; select @b as b
go
exec joined null
set concat_null_yields_null off
exec joined null
set concat_null_yields_null on
exec joined null
