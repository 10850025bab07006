-- Options that drivers set for each connection, in one batch.
set textsize -1; set datefirst 3; set dateformat dmy; set language us_english
select @@textsize as size, @@datefirst as first, cast('02-03-2026' as datetime) as second_of_march
set textsize 0
select @@textsize as size
set language british
select @@datefirst as first
set language us_english
select @@datefirst as first
GO
set textsize -2
GO
