-- Properties of columns, types, objects, indexes, databases and filegroups.
create table p (
  a int identity primary key, b varchar(30), c nvarchar(max), d xml, e float, f decimal(9, 2), g uniqueidentifier,
  h as a * 2, i text, constraint ck check (a > 0), j int check (j > 1))
create type ty1 from decimal(5, 1) not null
GO
create trigger p_after on p after insert, update as return
GO
create trigger p_instead on p instead of delete as return
GO
create view v with schemabinding as select a from dbo.p
GO
create procedure pr as select 1
GO
select c, columnproperty(object_id('p'), c, 'Precision') pr, columnproperty(object_id('p'), c, 'Scale') sc,
  columnproperty(object_id('p'), c, 'IsRowGuidCol') rg, columnproperty(object_id('p'), c, 'IsCursorType') ct,
  columnproperty(object_id('p'), c, 'IsPrecise') ip, columnproperty(object_id('p'), c, 'IsSystemVerified') sv,
  columnproperty(object_id('p'), c, 'IsDeterministic') id
from (values ('a'), ('b'), ('c'), ('d'), ('e'), ('f'), ('g'), ('h')) x (c)
GO
select t, type_id(t) id, typeproperty(t, 'Precision') pr, typeproperty(t, 'Scale') sc, typeproperty(t, 'AllowsNull') nu
from (values ('int'), ('sys.int'), ('dbo.ty1'), ('ty1'), ('varchar'), ('nvarchar'), ('decimal'), ('xml'), ('sysname'),
  ('uniqueidentifier'), ('nosuch'), ('dbo.int')) x (t)
GO
select property, objectpropertyex(object_id('p'), property) p, objectproperty(object_id('v'), property) v,
  objectproperty(object_id('pr'), property) pr, objectproperty(object_id('p_after'), property) tr
from (values ('IsIndexed'), ('IsIndexable'), ('IsSchemaBound'), ('IsExecuted'), ('IsEncrypted'), ('ExecIsAfterTrigger'), ('ExecIsStartup'),
  ('ExecIsTriggerNotForRepl'), ('HasAfterTrigger'), ('HasInsertTrigger'), ('HasInsteadOfTrigger'), ('TableHasInsertTrigger'),
  ('TableInsertTriggerCount'), ('TableDeleteTriggerCount'), ('TableHasTextImage'), ('TableHasColumnSet'), ('TableIsPinned'),
  ('Cardinality'), ('IsDefault'), ('IsRule'), ('IsQueue'), ('IsReplProc'), ('IsExtendedProc'), ('TableFulltextCatalogId')) x (property)
select object_name(objectproperty(object_id('p'), 'TableInsertTrigger')) t, objectproperty(object_id('p'), 'TableUpdateTrigger') - object_id('p_after') z
select name, objectproperty(object_id, 'CnstIsColumn') c from sys.check_constraints where parent_object_id = object_id('p') and name = 'ck'
select objectproperty(object_id, 'CnstIsColumn') c from sys.check_constraints where parent_object_id = object_id('p') and name <> 'ck'
GO
select indexproperty(object_id('p'), name, 'IsPageLockDisallowed') a, indexproperty(object_id('p'), name, 'IsRowLockDisallowed') b,
  indexproperty(object_id('p'), name, 'IsOptimizedForSequentialKey') c
from sys.indexes where object_id = object_id('p')
GO
select property, databasepropertyex(db_name(), property) value
from (values ('IsAnsiPaddingEnabled'), ('IsAnsiWarningsEnabled'), ('IsArithmeticAbortEnabled'), ('IsNullConcat'), ('IsNumericRoundAbortEnabled'),
  ('IsCloseCursorsOnCommitEnabled'), ('IsLocalCursorsDefault'), ('IsAutoCreateStatisticsIncremental'),
  ('IsMemoryOptimizedElevateToSnapshotEnabled'), ('LastGoodCheckDbTime')) x (property)
select file_idex('nosuch') f, filegroupproperty('PRIMARY', 'IsDefault') d, filegroupproperty('PRIMARY', 'IsReadOnly') r,
  filegroupproperty('nosuch', 'IsDefault') n, current_request_id() q
GO
create login somebody with password = 'Str0ng!Passw0rd'
select has_perms_by_name('somebody', 'LOGIN', 'IMPERSONATE') l, has_perms_by_name('nosuch', 'LOGIN', 'IMPERSONATE') l0,
  has_perms_by_name('guest', 'USER', 'CONTROL') u, has_perms_by_name('db_owner', 'ROLE', 'ALTER') r,
  has_perms_by_name('dbo.ty1', 'TYPE', 'EXECUTE') t, has_perms_by_name('p', 'OBJECT', 'SELECT') o,
  has_perms_by_name('p', 'OBJECT', 'NOSUCH') o0
drop login somebody
GO
-- GROUPING is a tinyint, GROUPING_ID an int.
select sql_variant_property(grouping(j), 'BaseType') g, sql_variant_property(grouping_id(j), 'BaseType') i from p group by rollup (j)
GO
drop view v
drop procedure pr
drop table p
drop type ty1
GO
