-- SET NOEXEC: nothing happens, whatever the batch says, until it is off again.
create table kept (a int)
insert kept values (1)
GO
create trigger kept_instead on kept instead of delete as print 'the trigger ran'
GO
set noexec on
GO
create table made (a int)
insert kept values (2)
delete kept
print 'printed'
declare @x int = 1
set @x = @x / 0
select @x as x
if 1 = 0 select 1 as one else select 2 as two
while 1 = 1 print 'again'
begin try
  begin tran
  raiserror ('raised', 16, 1)
end try
begin catch
  throw
end catch
exec ('print ''dynamic''')
exec sp_rename 'kept', 'renamed'
declare c cursor for select a from kept
open c
fetch next from c
select * into copied from kept
insert kept exec ('select 1')
return
drop table kept
GO
-- Names are checked.
select nothere from kept
insert nowhere values (1)
GO
set noexec off
GO
select object_id('made') as made, object_id('copied') as copied, object_id('renamed') as renamed, @@trancount as n
select a from kept
GO
-- In the middle of a batch, and of a block.
print 'before'
set noexec on
begin try
  print 'not this'
  set noexec off
  print 'this'
end try
begin catch
  print 'nor this'
end catch
GO
-- SET PARSEONLY holds for the batch that sets it; names are not looked up.
create table made (a int)
set parseonly on
GO
create table made (a int)
select a from nowhere where x = @undeclared
exec nothing
GO
selec 1 frm x
GO
set parseonly off
select object_id('made') as made
GO
-- SET FMTONLY: columns, no rows, no changes.
create procedure shapes @n int as
  if @n > 0 select a from kept
  else select 'x' as b
  insert kept values (3)
  select count(*) as c from kept
GO
set fmtonly on
GO
exec shapes 1
create table made (a int)
insert kept values (4)
select a, 'x' as b from kept
exec sp_executesql N'select @p as p', N'@p int', @p = 5
GO
set fmtonly off
GO
select object_id('made') as made
select a from kept
GO
-- SET SHOWPLAN_TEXT: the same, with plans.
set showplan_text on
GO
create table made (a int)
update kept set a = 9
print 'printed'
GO
set showplan_text off
GO
select object_id('made') as made
select a from kept
GO
