-- Definitions with JSON_OBJECT are text that can be said again, with what becomes of NULL.
create table t (a int null, b varchar(10) null,
    all_of_it as json_object('a': a, 'b': b), some_of_it as json_object('a': a, 'b': b absent on null), list as json_array(a, b null on null))
GO
select name, definition from sys.computed_columns where object_id = object_id('t') order by column_id
insert t values (1, null)
select all_of_it, some_of_it, list from t
GO
declare @sql nvarchar(max) = (select 'create table again (a int null, b varchar(10) null, ' + string_agg(name + ' as ' + definition, ', ') + ')'
from sys.computed_columns where object_id = object_id('t'))
exec (@sql)
insert again values (1, null)
select all_of_it, some_of_it, list from again
GO
drop table t, again
GO
