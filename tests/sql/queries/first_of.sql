create table n (c int); insert n values (1), (null)
select isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(isnull(coalesce(c, nullif(c, 0), 0) + 1, 1), nullif(c, 2), 2) + 1, 3), nullif(c, 4), 4) + 1, 5), nullif(c, 6), 6) + 1, 7), nullif(c, 8), 8) + 1, 9), nullif(c, 10), 10) + 1, 11), nullif(c, 12), 12) + 1, 13), nullif(c, 14), 14) + 1, 15), nullif(c, 16), 16) + 1, 17), nullif(c, 18), 18) + 1, 19), nullif(c, 20), 20) + 1, 21), nullif(c, 22), 22) + 1, 23), nullif(c, 24), 24) + 1, 25), nullif(c, 26), 26) + 1, 27), nullif(c, 28), 28) + 1, 29), nullif(c, 30), 30) + 1, 31), nullif(c, 32), 32) + 1, 33), nullif(c, 34), 34) + 1, 35), nullif(c, 36), 36) + 1, 37), nullif(c, 38), 38) + 1, 39), nullif(c, 40), 40) + 1, 41), nullif(c, 42), 42) + 1, 43), nullif(c, 44), 44) + 1, 45), nullif(c, 46), 46) + 1, 47), nullif(c, 48), 48) + 1, 49), nullif(c, 50), 50) + 1, 51), nullif(c, 52), 52) + 1, 53), nullif(c, 54), 54) + 1, 55), nullif(c, 56), 56) + 1, 57), nullif(c, 58), 58) + 1, 59) as deep from n
GO
create function dbo.told (@n int) returns int as begin return @n end
GO
select count(*) as times from (select isnull(case when abs(checksum(newid())) % 2 = 0 then null else 1 end, 7) as v from generate_series(1, 400)) x where v is null
select isnull(null, 5) as a, coalesce(null, null, 7) as b, isnull(3, 1/0) as c, coalesce(null, c, 1/0) as d from n where c = 1
select a.c, isnull(b.c, -1) as b from n a left join n b on b.c = a.c order by 1
GO
create table c2 (a varchar(5) collate Latin1_General_CI_AS, b varchar(9) collate Latin1_General_BIN2)
insert c2 values (null, 'longer than'), ('a', 'b')
GO
insert c2 values (null, 'longer'), ('a', 'b')
select isnull(a, b) as first from c2 where isnull(a, b) in ('A', 'LONGE')
GO
