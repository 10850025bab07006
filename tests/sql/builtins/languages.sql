-- SET LANGUAGE: names of months and days, the order of dates, the first day of the week.
select langid, dateformat, datefirst, name, alias, lcid, msglangid from sys.syslanguages
GO
select @@language as language, @@langid as langid, @@datefirst as first
set language German
select @@language as language, @@langid as langid, @@datefirst as first
select datename(month, '2026-03-05') as month, datename(weekday, '20260305') as day, cast('13.12.2026' as datetime) as d
declare @d datetime = '20260305 14:07'
select cast(@d as varchar(30)) as plain, convert(varchar(30), @d, 106) as s106, convert(varchar(30), @d, 9) as s9, convert(varchar(30), @d, 120) as s120
select cast('5 März 2026' as datetime) as long, cast('MÄR 5 2026' as date) as short, isdate('5 March 2026') as english, isdate('5. Mai 2026') as mai
GO
select cast('5 March 2026' as datetime) as refused
GO
set language 'norsk (bokmål)'
select @@language as language, datename(weekday, '20260308') as day
set language N'русский'
select datename(month, '2026-05-05') as month, convert(nvarchar(30), cast('20260505' as datetime), 100) as plain
set language Japanese
select datename(month, '2026-05-05') as month, datename(dw, '2026-05-05') as day, cast('26/05/04' as datetime) as ymd
set language Polish
select cast('5 IX 2026' as datetime) as roman, convert(varchar(20), cast('20260905' as datetime), 107) as s107
set language Italian
select datename(month, getdate() - datepart(dayofyear, getdate()) + 1) as january, cast('05/09/2026' as date) as d
GO
set language Klingon
GO
select @@language as still
set language us_english
GO
-- All six orders.
set dateformat ydm
select cast('2026-05-09' as datetime) as ydm, cast('2026-05-09' as date) as date_is_iso
set dateformat myd
select cast('05/2026/09' as datetime) as myd
set dateformat dym
select cast('05/2026/09' as datetime) as dym
select date_format, language from sys.dm_exec_sessions where session_id = @@spid
GO
set dateformat abc
GO
set dateformat mdy
exec sp_helplanguage 'Deutsch'
exec sp_helplanguage 'Quenya'
GO
-- A constant is not what it was under another language.
create procedure month_of as select datename(month, '20260305') as month, cast('05.03.2026' as datetime) as d
GO
exec month_of
set language French
exec month_of
set language us_english
exec month_of
GO
-- An argument is converted as the session reads dates.
create procedure day_of @d datetime as select @d as d
GO
set dateformat dmy
exec day_of '13/12/2026'
exec sp_executesql N'exec day_of @x', N'@x varchar(20)', '13/12/2026'
set dateformat mdy
exec day_of '13/12/2026'
GO
