-- sp_rename of sequences and synonyms.
create sequence numbers start with 5
create table t (id int default next value for numbers, a int)
create synonym s for t
create table taken (a int)
GO
exec sp_rename 'numbers', 'digits'
exec sp_rename '[dbo].[s]', 'other'
select name, type from sys.objects where type in ('SO', 'SN') order by name
select next value for digits n
select count(*) n from other
select object_id('numbers') a, object_id('s') b
GO
select next value for numbers
GO
exec sp_rename 'digits', 'taken'
GO
exec sp_rename 'other', 'taken', 'OBJECT'
GO
-- The old names are free, and a transaction takes the new ones back.
create sequence numbers
begin tran
exec sp_rename 'digits', 'figures'
rollback
select name from sys.sequences order by name
drop sequence numbers
drop synonym other
drop table t, taken
drop sequence digits
GO
-- A name may become itself in other letters.
create table Kept (Ab int constraint Pk primary key)
create sequence Numbers
create synonym Alias for Kept
GO
create view Shown as select 1 x
GO
exec sp_rename 'Kept', 'kept'
exec sp_rename 'kept.Ab', 'AB', 'COLUMN'
exec sp_rename 'Pk', 'pk', 'OBJECT'
exec sp_rename 'Numbers', 'numbers'
exec sp_rename 'Alias', 'alias'
exec sp_rename 'Shown', 'shown'
select name from sys.objects where name in ('kept', 'pk', 'numbers', 'alias', 'shown') order by name
select ab from kept
select next value for numbers n
GO
exec sp_rename 'kept', 'PK'
GO
drop view shown
drop synonym alias
drop sequence numbers
drop table kept
