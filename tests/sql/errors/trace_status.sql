-- no result where there is nothing to tell, and a row for what is named
dbcc tracestatus
dbcc tracestatus(1222) with no_infomsgs
dbcc traceon(3604) with no_infomsgs
dbcc tracestatus(1222, 3604) with no_infomsgs
dbcc tracestatus(-1) with no_infomsgs
dbcc traceoff(3604) with no_infomsgs
GO
declare @h int, @s int = 2, @c int = 2
exec sp_cursorprepare @h output, null, N'select 1 as a for update', 1, @s output, @c output
select @h - @h as prepared
exec sp_cursorunprepare @h
GO
select name, autoval, language, printfmt from syscolumns where id = object_id('nothing')
GO
