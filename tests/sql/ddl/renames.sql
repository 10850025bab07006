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
