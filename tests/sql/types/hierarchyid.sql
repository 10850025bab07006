-- hierarchyid: text, bytes, methods, keys, and what is refused.
select hierarchyid::GetRoot().ToString() as root, cast('/1/2.1/' as hierarchyid).ToString() as node,
    cast(hierarchyid::Parse('/1/1/3/') as varbinary(10)) as bytes, cast(0x5ADE as hierarchyid).ToString() as back
go
declare @h hierarchyid = '/1/3/4/', @n hierarchyid
select @h.GetLevel() as level, @h.GetAncestor(1).ToString() as parent, @h.GetAncestor(3).ToString() as root, @h.GetAncestor(4) as above,
    @h.IsDescendantOf('/1/') as below, @h.IsDescendantOf('/2/') as beside, @h.GetReparentedValue('/1/', '/7/8/').ToString() as moved,
    @h.GetDescendant(null, null).ToString() as first, @n.GetLevel() as of_null, hierarchyid::[Null] as none, datalength(@h) as bytes
go
declare @p hierarchyid = '/'
select @p.GetDescendant('/1/', null).ToString() a, @p.GetDescendant(null, '/1/').ToString() b, @p.GetDescendant('/1/', '/2/').ToString() c,
    @p.GetDescendant('/1/', '/1.1/').ToString() d, @p.GetDescendant('/1/', '/9/').ToString() e
go
create table org (node hierarchyid primary key, level as node.GetLevel(), name nvarchar(20) not null, parent as node.GetAncestor(1) persisted)
create unique index by_level on org (level, node)
go
insert org (node, name) values ('/', N'Ada'), ('/1/', N'Bob'), ('/2/', N'Cyd'), ('/1/1/', N'Dan'), ('/-1/', N'Eve'), ('/1/2/', N'Fay'), ('/10/', N'Gus'), ('/1.5/', N'Hal')
go
select node.ToString() as path, level, parent.ToString() as parent, name from org order by node
select o.name from org as o where o.node.IsDescendantOf('/1/') = 1 order by o.node desc
select max(node).ToString() as last, min(node).ToString() as first, count(distinct node) as nodes from org
select dbo.org.node.ToString() from dbo.org where node = '/2/'
go
update org set node = node.GetReparentedValue('/1/', '/2/') where node.IsDescendantOf('/1/') = 1 and node <> '/1/'
select node.ToString() as path, name from org where node.IsDescendantOf('/2/') = 1
insert org (node, name) values ('/2/1/', N'Ivy')
go
declare @boss hierarchyid, @last hierarchyid
select @boss = node from org where name = N'Cyd'
select @last = max(node) from org where node.GetAncestor(1) = @boss
insert org (node, name) values (@boss.GetDescendant(@last, null), N'Jim')
select node.ToString() from org where name = N'Jim'
go
select c.name, t.name, c.max_length, t.system_type_id, t.user_type_id, c.system_type_id from sys.columns c
    join sys.types t on t.user_type_id = c.user_type_id where c.object_id = object_id('org') and c.name = 'node'
select data_type, character_maximum_length from information_schema.columns where table_name = 'org' and column_name = 'node'
go
declare @h hierarchyid = '/1/1'
go
select cast(0x59 as hierarchyid)
go
select cast('/' as hierarchyid).GetAncestor(-1)
go
select hierarchyid::Parse('/1/').GetDescendant('/2/1/', null)
go
select hierarchyid::Parse('/').GetDescendant('/2/', '/1/')
go
select hierarchyid::Parse('/3/').GetReparentedValue('/1/', '/2/')
go
declare @h hierarchyid
select @h.getlevel()
go
declare @h hierarchyid
select @h.Level
go
declare @i int
select @i.GetLevel()
go
select hierarchyid::Parse()
go
declare @s nvarchar(10) = hierarchyid::GetRoot()
go
select try_cast('x' as hierarchyid) as none, isnull(cast(null as hierarchyid), '/').ToString() as root
go
create view paths as select node.ToString() as path, node.GetAncestor(1) as up from org
go
select path, up.ToString() from paths where path like '/2/%' order by path
go
drop view paths
drop table org
