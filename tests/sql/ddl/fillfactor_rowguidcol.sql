-- FILLFACTOR is remembered and shown.
create table t (
  id int identity(10, 5) constraint pk_t primary key with (fillfactor = 80),
  g uniqueidentifier rowguidcol not null constraint df_g default '6F9619FF-8B86-D011-B42D-00C04FC964FF',
  a int, index ix_b (a) with (fillfactor = 60))
create index ix_a on t (a) with (fillfactor = 70)
create index ix_c on t (a)
GO
select name, fill_factor, indexproperty(object_id, name, 'IndexFillFactor') p from sys.indexes where object_id = object_id('t') order by name
alter index ix_c on t rebuild with (fillfactor = 50)
select name, fill_factor from sys.indexes where object_id = object_id('t') and name = 'ix_c'
GO
-- ROWGUIDCOL is, too; $ROWGUID and $IDENTITY stand for the columns.
insert t (a) values (1), (2)
select $identity, $rowguid, t.$identity x from t where $identity > 10
select name, is_rowguidcol, columnproperty(object_id, name, 'IsRowGuidCol') p from sys.columns where object_id = object_id('t')
select objectproperty(object_id('t'), 'TableHasRowGuidCol') h
alter table t alter column g drop rowguidcol
select $rowguid from t
GO
alter table t alter column g add rowguidcol
select $rowguid from t where a = 1
GO
alter table t add h uniqueidentifier rowguidcol
GO
create table two (a uniqueidentifier rowguidcol, b uniqueidentifier rowguidcol)
GO
select $identity from sys.objects
GO
drop table t
GO
