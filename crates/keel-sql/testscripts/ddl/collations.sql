-- Every name of the product's is kept and shown.
create database prague collate czech_ci_as
GO
create database leipzig collate German_PhoneBook_CI_AS
GO
create database nowhere collate Klingon_CI_AS
GO
create database indic collate Indic_General_90_CI_AS
GO
select name, collation_name from sys.databases where name in ('prague', 'leipzig') order by name
GO
select databasepropertyex('prague', 'Collation') as collation, databasepropertyex('prague', 'LCID') as lcid
GO
use prague
GO
create table names (id int not null, a nvarchar(20), b nvarchar(20) collate Latin1_General_100_CI_AS_SC_UTF8, c nvarchar(20) collate Japanese_XJIS_140_CS_AS_KS_WS_VSS, d varchar(20) collate database_default, e varchar(20) collate SQL_Latin1_General_CP850_BIN2, f int)
GO
select name, collation_name from sys.columns where object_id = object_id('names') order by column_id
GO
select column_name, collation_name from information_schema.columns where table_name = 'names' order by ordinal_position
GO
alter table names alter column a nvarchar(20) collate Turkish_CI_AS
GO
alter table names alter column b nvarchar(20)
GO
select name, collation_name from sys.columns where object_id = object_id('names') and name in ('a', 'b') order by column_id
GO
create table #t (a varchar(10))
GO
declare @t table (a varchar(10))
select a from #t where a = cast('x' as varchar(10))
GO
create table wrong (a varchar(10) collate Klingon_CI_AS)
GO
create table wrong (a int collate Czech_CI_AS)
GO
create table wrong (a varchar(10) collate Indic_General_90_CI_AS)
GO
create table indic (a nvarchar(10) collate Indic_General_90_CI_AS)
GO
select 'x' collate Klingon_CI_AS
GO
select 1 where N'a' collate Czech_CI_AS = N'b' collate Turkish_CI_AS
GO
select 1 from names where a = b
GO
-- The order of a language, in sorts, indexes, groups and searches.
create table words (id int identity, word nvarchar(20) collate Czech_CI_AS)
GO
insert words (word) values (N'chata'), (N'cesta'), (N'dům'), (N'hrad'), (N'čas'), (N'Hora'), (N'idea'), (N'CHATA')
GO
select word from words order by word, id
GO
create index w on words (word)
GO
select word from words where word between N'h' and N'i' order by word, id
GO
select count(*) as n from words where word = N'Chata'
GO
select word, count(*) as n from words group by word having count(*) > 1
GO
select word from words where word like N'ch%' order by id
GO
select word from words where word > N'hz' order by word, id
GO
create unique index u on words (word)
GO
select word from words order by word collate Latin1_General_BIN2
GO
-- Names and keys outlive a power cut.
-- restart:
use prague
select word from words where word = N'chata' order by id
select name, collation_name from sys.columns where object_id = object_id('names') order by column_id
GO
-- Accents, kana and width.
create table kinds (id int identity, a nvarchar(10) collate Japanese_CI_AS)
GO
insert kinds (a) values (N'カ'), (N'か'), (N'ガ'), (N'ｶ'), (N'A'), (N'ａ')
GO
select count(distinct a) as ci_as, count(distinct a collate Japanese_CI_AS_KS) as ks, count(distinct a collate Japanese_CI_AS_WS) as ws, count(distinct a collate Japanese_CI_AI) as ai, count(distinct a collate Japanese_CS_AS_KS_WS) as [all], count(distinct a collate Japanese_BIN2) as bin from kinds
GO
select distinct a collate Japanese_CS_AS_KS_WS as a from kinds order by a
GO
select a collate Japanese_CI_AI as a, count(*) as n from kinds group by a collate Japanese_CI_AI order by a
GO
select k.id, l.id from kinds k join kinds l on k.a = l.a and k.id < l.id order by k.id, l.id
GO
select id from kinds where a collate Japanese_CI_AS_KS_WS like N'[か]' order by id
GO
select case when N'résumé' = N'RESUME' collate French_CI_AI then 1 else 0 end as ai, case when N'I' = N'i' collate Turkish_CI_AS then 1 else 0 end as turkish, case when N'I' = N'ı' collate Turkish_CI_AS then 1 else 0 end as dotless
GO
-- Code pages: what a varchar can hold, and how long it is.
create table pages (jp varchar(4) collate Japanese_CI_AS, ru varchar(4) collate Cyrillic_General_CI_AS, u8 varchar(4) collate Latin1_General_100_CI_AS_SC_UTF8, la varchar(4) collate Latin1_General_CI_AS)
GO
insert pages values (N'日本', N'Дом', N'éé', N'Дé')
GO
insert pages (jp) values (N'日本語')
GO
insert pages (u8) values (N'日本')
GO
insert pages (u8) values ('ééé')
GO
select jp, datalength(jp) as jp_bytes, ru, datalength(ru) as ru_bytes, u8, datalength(u8) as u8_bytes, la from pages
GO
select convert(varchar(20), cast(jp as varbinary(8)), 1) as jp, convert(varchar(20), cast(ru as varbinary(8)), 1) as ru, convert(varchar(20), cast(u8 as varbinary(8)), 1) as u8 from pages
GO
update pages set la = ru
GO
update pages set ru = jp
GO
select ru, la from pages
GO
declare @v varchar(10) = N'čaj'
select @v as v, datalength(@v) as n
GO
use master
GO
select collationproperty('Japanese_XJIS_140_CS_AS_VSS', 'CodePage') as page, collationproperty('Japanese_XJIS_140_CS_AS_VSS', 'LCID') as lcid, collationproperty('Japanese_XJIS_140_CS_AS_VSS', 'ComparisonStyle') as style, collationproperty('Japanese_XJIS_140_CS_AS_VSS', 'Version') as version
GO
select collationproperty('Klingon_CI_AS', 'LCID') as none
GO
select count(*) as names from sys.fn_helpcollations()
GO
select description from sys.fn_helpcollations() where name = 'Thai_100_CI_AS_KS_SC'
GO
alter database prague collate Slovak_100_CI_AS
GO
select databasepropertyex('prague', 'Collation') as collation
GO
drop database prague
GO
drop database leipzig
GO
