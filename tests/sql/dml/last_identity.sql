-- @@IDENTITY is that of the last INSERT, and NULL behind one into a table without identity; SCOPE_IDENTITY() stays.
create table counted (id int identity (100, 2), v int)
create table plain (v int)
create table logged (id int identity (500, 1), v int)
GO
insert counted values (1), (2)
select @@identity as last, scope_identity() as here
insert plain values (1)
select @@identity as last, scope_identity() as here
insert counted select v from plain where 1 = 0
select @@identity as last
insert counted values (3)
update plain set v = 2
delete plain
select @@identity as last
GO
create trigger counted_t on counted after insert as insert logged select v from inserted
GO
create trigger logged_t on logged after insert as insert plain select v from inserted
GO
insert counted values (4)
select @@identity as last, scope_identity() as here
drop trigger logged_t
insert counted values (5)
select @@identity as last, scope_identity() as here
GO
-- A date out of range ends the statement, not the batch.
create table dated (d smalldatetime)
declare @far datetimeoffset = '1800-01-01'
insert dated values (@far)
select @@error as error
update plain set v = datepart(year, cast(@far as smalldatetime))
select cast('17530101 12:00' as smalldatetime) as d
select 'the batch goes on' as t
GO
begin transaction
insert plain values (9)
begin try
  insert dated values ('1850-01-01')
end try
begin catch
  select error_number() as n, xact_state() as state
end catch
commit
select count(*) as n from plain where v = 9
GO
