-- ESCAPE of other types is converted; ESCAPE NULL is none.
create table t (a varchar(20)); insert t values ('abc\_d'), ('abc\xd'), ('abc0_')
select a from t where a like 'abc\0_%' escape 0
select a from t where a like 'abc\[_]%' escape null
declare @none char(1)
select a from t where a like 'abc\[_]%' escape @none
select cast('1912-10-25 12:24:32 +10:0' as datetimeoffset(0)) as one_digit_of_minutes
