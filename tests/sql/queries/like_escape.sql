-- ESCAPE of other types is converted; ESCAPE NULL is none.
create table t (a varchar(20)); insert t values ('abc\_d'), ('abc\xd'), ('abc0_')
select a from t where a like 'abc\0_%' escape 0
select a from t where a like 'abc\[_]%' escape null
declare @none char(1)
select a from t where a like 'abc\[_]%' escape @none
select cast('1912-10-25 12:24:32 +10:0' as datetimeoffset(0)) as one_digit_of_minutes
select datepart(tzoffset, '2023-04-15T12:30:45.6789+05:30') as minutes, datename(tz, '2022-08-27T08:45:30-03:00') as name
