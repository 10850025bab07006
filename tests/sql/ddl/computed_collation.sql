-- A computed column has the collation of its expression; an identity column has no default.
create table t (a varchar(20) collate Latin1_General_CS_AS, b as substring(a, 1, 2), c as a + 'x' collate Latin1_General_BIN2, d as upper('x'))
insert t (a) values ('Ab'), ('AB')
select name, collation_name from sys.columns where object_id = object_id('t') order by column_id
select a from t where b = 'ab'; select count(distinct b) as n from t
alter table t add e as left(a, 1)
select collation_name from sys.columns where object_id = object_id('t') and name = 'e'
go
create table u (id int not null default 0 identity(1, 1), x int)
go
