-- Where rows were deleted, scans begin behind what nobody finds there any more. A row that comes back there is seen by all.
create table q (k int primary key, v int)
insert q select value, 0 from generate_series(1, 100)
delete q where k <= 60
GO
-- These go through the range from places of their own, as consumers of a queue do.
update q set v = 1 where k >= 10 and k < 15
update q set v = 2 where k >= 10 and k < 70
update q set v = 3 where k >= 0 and k < 70
GO
insert q values (30, 0)
GO
select count(*) [all], min(k) first from q
select count(*) [from 0], min(k) first from q where k >= 0
select count(*) [from 10], min(k) first from q where k >= 10
select top 1 k from q with (updlock) where k >= 5 order by k
GO
