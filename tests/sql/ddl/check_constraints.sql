-- DBCC CHECKCONSTRAINTS and CHECKTABLE.
create table p (id int primary key)
create table c_d (id int primary key, p int constraint fk references p, v int constraint ck check (v > 0), w varchar(10) constraint never check (w <> 'x'))
insert p values (1)
alter table c_d nocheck constraint all
insert c_d values (1, 1, 5, 'a'), (2, 7, -1, 'x'), (3, null, null, null)
GO
dbcc checkconstraints
GO
alter table c_d check constraint fk
alter table c_d check constraint ck
GO
dbcc checkconstraints
GO
dbcc checkconstraints ('c_d') with no_infomsgs
dbcc checkconstraints (ck)
dbcc checkconstraints with all_constraints
GO
dbcc checkconstraints ('nothing')
GO
delete c_d where id = 2
dbcc checkconstraints ('c_d')
GO
create index i on p (id) where id > 5
insert p values (6), (7), (2)
dbcc checktable ('p')
GO
dbcc checktable ('nothing')
GO
