-- What is put together from columns of different collations has none, until COLLATE gives it one.
create table #word (id int not null, binary_word varchar(10) collate Latin1_General_BIN2, word varchar(10) collate SQL_Latin1_General_CP1_CI_AS)
insert #word values (1, 'Apple', 'apple'), (2, 'pear', 'PEAR')
GO
select id, case when id = 1 then binary_word else word end collate Latin1_General_BIN2 as either from #word order by id
select id from #word where binary_word + word collate SQL_Latin1_General_CP1_CI_AS = 'APPLEAPPLE'
select len(case id when 1 then binary_word else word end) as length from #word order by id
GO
-- As a column, or compared, it is an error.
select binary_word + word as both from #word
GO
select id, coalesce(binary_word, word) as either from #word
GO
select id from #word where case when id = 1 then binary_word else word end = 'apple'
GO
select id from #word where binary_word = word
GO
-- Text that is computed has a collation only for want of another, behind a derived table or a view too.
create table exact_names (name varchar(10) collate Latin1_General_BIN2)
insert exact_names values ('a'), ('B')
GO
create view said as select 'A' as word, concat('b', '') as other
GO
select n.name, d.word from exact_names n join (select 'a' as word union all select 'b') d on d.word = n.name
select name from exact_names where exists (select * from said where word = name or other = name)
select coalesce(d.word, n.name) as word from exact_names n left join (values ('B')) d (word) on d.word = n.name order by n.name
GO
select coalesce(n.name, t.name) as name from exact_names n join (select cast('x' as varchar(10)) collate Latin1_General_CI_AI as name) t on 1 = 1
GO
