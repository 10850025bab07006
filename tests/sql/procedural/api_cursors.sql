-- Cursors of the API, called as procedures: kinds, windows of rows, row status, positioned changes, errors.
create table t (id int primary key, v varchar(10) null)
insert t values (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four'), (5, 'five')
GO
-- A keyset cursor: what was agreed comes back in the parameters.
declare @c int, @scroll int = 1, @cc int = 4, @rows int, @rc int, @at int, @n int
exec @rc = sp_cursoropen @c output, N'select id, v from t order by id', @scroll output, @cc output, @rows output
select @rc as rc, @c as handle, @scroll as scroll, @cc as cc, @rows as rows
exec sp_cursorfetch @c, 2, 0, 2
exec sp_cursorfetch @c, 2, 0, 2
exec sp_cursorfetch @c, 0x100, @at output, @n output
select @at as at, @n as n
exec sp_cursorfetch @c, 8, 0, 2
exec sp_cursorfetch @c, 0x10, 2, 1
exec @rc = sp_cursorfetch @c, 0x20, -4, 9
select @rc as adjusted
-- Rows are read again when they are fetched; one that is gone is missing.
update t set v = 'TWO' where id = 2
delete t where id = 3
exec sp_cursorfetch @c, 0x10, 2, 2
exec sp_cursorclose @c
exec sp_cursorclose @c
GO
-- Positioned changes.
declare @c int
exec sp_cursoropen @c output, N'select id, v from t order by id', 1, 4
exec sp_cursorfetch @c, 1, 0, 3
exec sp_cursor @c, 1, 1, '', @v = 'uno'
exec sp_cursor @c, 1, 2, 't', 'set v = v + ''!'''
exec sp_cursor @c, 4, 0, 't', @id = 9, @v = 'nine'
exec sp_cursor @c, 2, 3
exec sp_cursor @c, 8, 1
select * from t order by id
exec sp_cursor @c, 1, 7, '', @v = 'x'
exec sp_cursor @c, 64, 1
exec sp_cursor @c, 0, 1
-- The values that were fetched are no longer those of the row.
update t set v = 'another' where id = 1
exec sp_cursor @c, 1, 1, '', @v = 'mine'
delete t where id = 1
exec sp_cursor @c, 1, 1, '', @v = 'mine'
exec sp_cursorclose -1
GO
-- What has no key is static and read-only; forward-only goes forward.
declare @c int, @scroll int = 2, @cc int = 2
exec sp_cursoropen @c output, N'select count(*) as n from t', @scroll output, @cc output
select @scroll as scroll, @cc as cc
exec sp_cursorfetch @c, 1, 0, 1
exec sp_cursor @c, 2, 1
exec sp_cursorclose @c
exec sp_cursoropen @c output, N'select id from t order by id', 16, 1
exec sp_cursorfetch @c, 2, 0, 10
exec sp_cursorfetch @c, 1, 0, 10
GO
-- Parameters, preparing, names.
declare @h int, @c int
exec sp_cursorprepexec @h output, @c output, N'@from int', N'select id from t where id >= @from order by id', 8, 1, 0, 4
exec sp_cursorfetch @c, 2, 0, 5
exec sp_cursorexecute @h, @c output, 1, 4, 0, 5
exec sp_cursoroption @c, 2, 'named'
exec sp_cursorfetch @c, 2, 0, 1
update t set v = 'by name' where current of named
select v from t where id = 5
exec sp_cursorunprepare @h
exec sp_cursorexecute @h, @c output, 1, 4, 0, 5
GO
-- What is no query is executed, if that is allowed.
declare @c int = 7
exec sp_cursoropen @c output, N'update t set v = null where id = 5', 8, 0x2001
select @c as c
exec sp_cursoropen @c output, N'update t set v = null where id = 5', 8, 1
exec sp_cursoropen @c output, N'select id from t order by v', 0x8002, 0x8004
exec sp_cursoropen @c output
exec sp_cursorfetch 12345
GO
-- A table without a unique index, with NULLs and rows that are alike.
create table #heap (a int identity(5, 1), b int, c int)
insert #heap (b) values (1), (1), (null)
go
declare @h int, @s int = 1, @c int = 4, @r int
exec sp_cursoropen @h output, N'select b, c from #heap', @s output, @c output, @r output
select @s, @c, @r
exec sp_cursorfetch @h, 2, 0, 5
exec sp_cursor @h, 33, 2, '#heap', @b = 7
exec sp_cursorfetch @h, 0x80, 0, 5
exec sp_cursorclose @h
select * from #heap
drop table #heap
go
GO
-- Clauses of a cursor's definition, which drivers whose cursors have names send with the query.
insert t values (21, 'one'), (22, 'two')
declare @c int, @scroll int = 4, @cc int = 4
exec sp_cursoropen @c output, N'select id, v from t where id > 20 order by id for update', @scroll output, @cc output
select @scroll as scroll, @cc as cc
exec sp_cursorfetch @c, 2, 0, 1
exec sp_cursoroption @c, 2, 'changing'
update t set v = 'changed' where current of changing
select v from t where id = 21
exec sp_cursorclose @c
select @scroll = 1, @cc = 4
exec sp_cursoropen @c output, N'select id, v from t where id > 20 for update of v', @scroll output, @cc output
select @scroll as scroll, @cc as cc
exec sp_cursorclose @c
select @scroll = 1, @cc = 4
exec sp_cursoropen @c output, N'select id, v from t where id > 20 for read only', @scroll output, @cc output
select @cc as cc
exec sp_cursorclose @c
GO
declare @c int
exec sp_cursoropen @c output, N'select id, v from t for updating'
GO
declare @c int
exec sp_cursoropen @c output, N'declare c cursor for select id from t'
