-- GOTO does not lead into a TRY block; INSTEAD OF triggers see values in their columns' types; OBJECTPROPERTYEX gives a variant.
goto inside
begin try inside: print 'in' end try begin catch print 'caught' end catch
go
begin try goto outside; print 'not reached' end try begin catch print 'caught' end catch
outside: print 'out'
go
create table t (id int, amount decimal(10, 2))
go
create view v as select id, amount from t
go
create trigger tv on v instead of insert, update as select id, amount, amount / 3 as third from inserted
go
insert v values ('7', '1000')
insert t values (1, 5); update v set amount = '12'
go
select objectpropertyex(object_id('t'), 'BaseType') as base_type, objectpropertyex(object_id('t'), 'IsTable') as is_table,
  objectproperty(object_id('t'), 'BaseType') as no_number
