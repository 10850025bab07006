-- modify(): insert, delete, replace value of; on variables and columns.
declare @x xml = '<r a="1"><b>x</b><c/></r>'
set @x.modify('insert <d e="2">new</d> into (/r)[1]')
set @x.modify('insert <first/> as first into (/r)[1]')
set @x.modify('insert (<m/>, text {"t"}) before (/r/c)[1]')
set @x.modify('insert <n/> after (/r/c)[1]')
set @x.modify('insert attribute z {"9"} into (/r)[1]')
select @x as inserted
set @x.modify('replace value of (/r/b/text())[1] with "y & z"')
set @x.modify('replace value of (/r/@a)[1] with (/r/@a)[1] + 1')
select @x as replaced, @@rowcount as n
set @x.modify('delete /r/*[self::m or self::n]')
set @x.modify('delete (/r/@z, /r/d/text())')
set @x.modify('delete /r/nothing')
select @x as deleted
GO
-- With values of SQL; xml goes in whole.
declare @x xml = '<r><b>x</b></r>', @v nvarchar(20) = N'<v>', @more xml = '<m>1</m><m>2</m>'
set @x.modify('replace value of (/r/b/text())[1] with sql:variable("@v")')
set @x.modify('insert sql:variable("@more") as last into (/r)[1]')
set @x.modify('insert <k>{ sql:variable("@v") }</k> before (/r/m)[2]')
select @x as x
GO
create table doc (id int primary key, x xml null, n int null)
insert doc values (1, '<r><i>1</i></r>', 10), (2, '<r><i>2</i><i>3</i></r>', 20), (3, '<r/>', 30)
update doc set x.modify('insert <n>{ sql:column("n") }</n> into (/r)[1]') where id < 3
update doc set x.modify('replace value of (/r/i/text())[1] with (/r/i)[1] + 1'), n = n + 1 output inserted.id, deleted.x, inserted.x, inserted.n
select id, x from doc order by id
update d set x.modify('delete /r/i[. = sql:column("o.n")]') from doc d join (values (1, 2), (2, 3)) o(id, n) on o.id = d.id
select id, x from doc order by id
GO
-- Refusals.
declare @x xml = '<r/>'; set @x.modify('insert <d/> into /r')
GO
declare @x xml = '<r/>'; set @x.modify('replace value of (/r)[1] with "x"')
GO
declare @x xml = '<r/>'; set @x.modify('replace value of (/r/text())[1]')
GO
declare @x xml = '<r/>'; set @x.modify('/r')
GO
declare @x xml = '<r a="1"/>'; set @x.modify('insert attribute a {"2"} into (/r)[1]')
GO
declare @x xml = '<r/>'; set @x.value('/r', 'int')
GO
declare @x xml; set @x.modify('delete /r')
GO
update doc set x = null where id = 3
update doc set x.modify('delete /r')
GO
update doc set n.modify('delete /r')
GO
