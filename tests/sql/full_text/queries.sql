-- Full-text search: every form of a condition, over English and German texts.
create database library
GO
use library
create table dbo.book (id int not null constraint pk_book primary key, title nvarchar(100) not null, body nvarchar(max) null, lang varchar(10) null)
insert dbo.book values
    (1, N'The Running Man', N'A man runs. He ran yesterday, and he will be running tomorrow.', 'en'),
    (2, N'Gardens of the North', N'Roses and tulips grow in the cold garden of the northern king.', 'en'),
    (3, N'Cooking for Kings', N'The king likes rose petals, garden herbs and café au lait.', 'en'),
    (4, N'Database systems', N'Full-text search finds words; a database server finds rows.', 'en'),
    (5, N'Empty', null, 'en'),
    (6, N'Servers and databases', N'Servers serve. The search for the perfect server never ends: search, search, search.', 'en')
create fulltext catalog books with accent_sensitivity = off as default
create fulltext index on dbo.book (title language 1033, body language N'English') key index pk_book
exec sys.sp_keel_fulltext_wait
GO
-- Words, in one column, in some, in all.
select id from dbo.book where contains(body, N'garden') order by id
select id from dbo.book where contains((title, body), N'king') order by id
select id from dbo.book where contains(*, N'gardens') order by id
select b.id from dbo.book b where contains(b.*, 'databases') order by id
select b.id from dbo.book b where contains((b.title, b.body), 'server') order by id
select b.id from dbo.book b where contains((b.*), N'gardens') and freetext((*), N'gardens') order by id
-- Upper and lower case, accents.
select id from dbo.book where contains(body, N'CAFE') order by id
select id from dbo.book where contains(body, N'Café') order by id
GO
-- Phrases, with a stop word in the middle too.
select id from dbo.book where contains(body, N'"database server"') order by id
select id from dbo.book where contains(body, N'"server database"') order by id
select id from dbo.book where contains(body, N'"roses and tulips"') order by id
-- Beginnings of words, and of the words of a phrase.
select id from dbo.book where contains(body, N'"serv*"') order by id
select id from dbo.book where contains(*, N'"data*"') order by id
select id from dbo.book where contains(body, N'"north* kin*"') order by id
-- Without quotation marks an asterisk means nothing.
select id from dbo.book where contains(body, N'serv*') order by id
GO
-- AND, OR, AND NOT; all in one column.
select id from dbo.book where contains(body, N'king and garden') order by id
select id from dbo.book where contains(body, N'king & garden &! café') order by id
select id from dbo.book where contains(body, N'tulips | rows') order by id
select id from dbo.book where contains(body, N'search and not (rows or words)') order by id
select id from dbo.book where contains(*, N'cooking and king') order by id
select id from dbo.book where contains(title, N'cooking') and contains(body, N'king') order by id
GO
-- Close to each other.
select id from dbo.book where contains(body, N'king near garden') order by id
select id from dbo.book where contains(body, N'near((rose, king), 2)') order by id
select id from dbo.book where contains(body, N'near((rose, king), 1)') order by id
select id from dbo.book where contains(body, N'near((rose, king), 2, true)') order by id
select id from dbo.book where contains(body, N'near((king, rose), 2, true)') order by id
select id from dbo.book where contains(body, N'near((king, "garden herbs"), max)') order by id
GO
-- Forms of words.
select id from dbo.book where contains(body, N'formsof(inflectional, run)') order by id
select id from dbo.book where contains(body, N'formsof(inflectional, serving)') order by id
select id from dbo.book where contains(*, N'formsof(inflectional, garden) and formsof(inflectional, rose)') order by id
select id from dbo.book where contains(body, N'formsof(thesaurus, king)') order by id
select id from dbo.book where freetext(*, N'a server for kings') order by id
select id from dbo.book where freetext(body, N'"perfect server"') order by id
GO
-- The query's language says which are stop words; forms are those of the column's.
select id from dbo.book where contains(body, N'formsof(inflectional, run)', language 1031) order by id
select id from dbo.book where freetext(body, N'serving', language N'French') order by id
select id from dbo.book where contains(body, N'the and king', language N'French') order by id
GO
-- Two terms are not the same word.
select id from dbo.book where contains(body, N'near((king, king), 5)') order by id
select id from dbo.book where contains(body, N'near((running, "run*"), max)') order by id
GO
-- Ranks: what says it more often, or is rarer, comes first.
select b.id, case when t.[rank] between 1 and 1000 then 'in range' end as r from containstable(dbo.book, body, N'search') t join dbo.book b on b.id = t.[key] order by t.[rank] desc
select [key] from freetexttable(dbo.book, *, N'database server search', 2) order by [rank] desc
select top (1) [key] from containstable(dbo.book, body, N'isabout(garden weight(.1), database weight(.9))') order by [rank] desc
select top (1) [key] from containstable(dbo.book, body, N'isabout(garden weight(.9), tulips weight(.8), database weight(.1))') order by [rank] desc
select count(*) as n from containstable(dbo.book, (title, body), N'"serv*"', language N'English', 10) as t
select k, r from containstable(dbo.book, title, N'man') as t(k, r) where r > 0
GO
-- Anywhere in a query: negated, with other conditions, in subqueries, joins, views, variables.
select id from dbo.book where not contains(body, N'king') order by id
select id from dbo.book where contains(body, N'king') or id = 5 order by id
select id, case when contains(body, N'king') then 'royal' else 'common' end as kind from dbo.book order by id
select a.id, b.id from dbo.book a join dbo.book b on contains(a.body, N'tulips') and contains(b.body, N'café')
select id from dbo.book a where exists (select 1 from dbo.book b where b.id = a.id + 1 and contains(b.body, N'garden')) order by id
declare @what nvarchar(100) = N'"garden of the north*"'
select id from dbo.book where contains(body, @what)
declare @lang int = 1033
select id from dbo.book where freetext(body, N'running', language @lang)
GO
create view dbo.royal as select id, title from dbo.book where contains(body, N'king')
GO
create procedure dbo.find_book @what nvarchar(200) as select id from dbo.book where contains(*, @what) order by id
GO
select id from dbo.royal order by id
exec dbo.find_book N'rows'
exec dbo.find_book N'"serv*"'
update dbo.book set lang = 'xx' where contains(body, N'tulips')
delete dbo.book where contains(title, N'empty')
select id, lang from dbo.book where lang = 'xx' or id = 5
GO
-- Stop words find nothing, and say so; with the option they are passed over.
select id from dbo.book where contains(body, N'the')
select id from dbo.book where contains(body, N'the and king')
select id from dbo.book where contains(body, N'the or tulips')
exec sp_configure 'show advanced options', 1
reconfigure
exec sp_configure 'transform noise words', 1
reconfigure
select id from dbo.book where contains(body, N'the and king') order by id
exec sp_configure 'transform noise words', 0
reconfigure
GO
-- What is no condition.
select id from dbo.book where contains(body, N'two words')
GO
select id from dbo.book where contains(body, N'"open')
GO
select id from dbo.book where contains(body, N'')
GO
declare @nothing nvarchar(10)
select id from dbo.book where freetext(body, @nothing)
GO
select id from dbo.book where contains(body, N'isabout(a weight(2))')
GO
select id from dbo.book where contains(lang, N'en')
GO
select id from dbo.book where contains(nowhere, N'en')
GO
select a.id from dbo.book a, dbo.book b where contains(*, N'king')
GO
select a.id from dbo.book a, dbo.book b where contains((a.title, b.title), N'king')
GO
select name from sys.objects where contains(name, N'king')
GO
create table dbo.plain (id int not null primary key, t varchar(10))
select id from dbo.plain where freetext(t, N'king')
GO
select * from containstable(dbo.plain, t, N'king')
GO
select * from containstable(dbo.book, body, N'king', -1) t
GO
select * from containstable(dbo.book, body, N'king', language N'Klingon') t
GO
select * from containstable(dbo.book, body, N'king', language 7) t
GO
declare @n int = 5
select id from dbo.book where contains(body, @n)
GO
select id from dbo.book where contains(body, N'a' + N'b')
GO
-- In a plan the rows that were found come first, and are looked up.
set showplan_text on
GO
select title from dbo.book where contains(body, N'king')
GO
set showplan_text off
GO
use master
drop database library
