-- The permissions that there are, and what covers them.
select class_desc, count(*) as n from sys.fn_builtin_permissions(default) group by class_desc order by 1
select count(*) - (select count(*) from sys.fn_builtin_permissions(null)) as same from sys.fn_builtin_permissions('')
select * from sys.fn_builtin_permissions('SCHEMA')
select * from sys.fn_builtin_permissions(N'object') order by permission_name
select * from sys.fn_builtin_permissions('login') order by permission_name
select * from sys.fn_builtin_permissions('database') where permission_name like 'CREATE %' order by permission_name
select * from sys.fn_builtin_permissions('server') order by permission_name
select count(*) as n from sys.fn_builtin_permissions('no class')
GO
-- Everything that is covered is covered by what there is.
select p.class_desc, p.permission_name, p.covering_permission_name from sys.fn_builtin_permissions(default) p
where p.covering_permission_name <> '' and not exists (select * from sys.fn_builtin_permissions(default) q
  where q.class_desc = p.class_desc and q.permission_name = p.covering_permission_name)
GO
