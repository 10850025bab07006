-- OPENJSON gives what the text says: members in their order, names that stand twice, numbers with their digits, objects with
-- their blanks.
select * from openjson('{"b":1.50,"a":{ "x" : 1.0 , "c":[ 1,2 ]},"a":2,"n":12345678901234567890123,"e":1e5,"s":"q\"\u00e9","t":true,"z":null}')
go
select * from openjson('[1, "a", null, [ ], {}]')
go
select id, o, t from openjson('[{"id":1.10,"o":{ "x" : 1 },"t":true},{"ID":2,"o":5}]')
    with (id varchar(20), o nvarchar(max) as json, t bit)
go
select * from openjson('{"a":[{"b":"5"},{"b":null},{"b":[1]}]}', '$.a') with (b int, whole nvarchar(max) '$' as json)
go
select * from openjson('[1,2]') with (v int '$')
go
-- Paths that lead nowhere: no rows and NULL, errors when they are strict.
select count(*) from openjson('{"a":1}', '$.b')
select count(*) from openjson('{"a":1}', '$.a')
go
select * from openjson('{"a":1}', 'strict $.b')
go
select * from openjson('{"a":1}', 'strict $.a')
go
select * from openjson('[{"a":1}]') with (z int 'strict $.z')
go
select * from openjson('[{"a":[1]}]') with (a int 'strict $.a')
go
select * from openjson('{"a":1')
go
GO
-- A column of the WITH may have a collation.
select name from openjson('[{"name":"b"},{"name":"A"},{"name":"B"}]') with (name varchar(5) collate Latin1_General_BIN2 '$.name') where name <> 'b' order by name
select name from openjson('[{"name":"b"},{"name":"A"},{"name":"B"}]') with (name varchar(5)) where name <> 'b' order by name
GO
select n from openjson('[{"n":1}]') with (n int collate Latin1_General_BIN2)
GO
select n from openjson('[{"n":1}]') with (n varchar(5) collate No_Such_Collation)
