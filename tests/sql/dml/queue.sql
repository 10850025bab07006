-- A queue: rows come at one end and go at the other. What went is passed over, what comes back in between is found.
set nocount on
create table q (lane int not null, id int not null, what varchar(20) not null, primary key (lane, id))
declare @i int = 1
while @i <= 200
begin
  insert q values (1, @i, concat('work ', @i)), (2, @i, concat('other ', @i))
  set @i = @i + 1
end
GO
declare @i int = 1, @id int
while @i <= 150
begin
  select top (1) @id = id from q with (updlock) where lane = 1 order by id
  delete q where lane = 1 and id = @id
  set @i = @i + 1
end
select top (1) id, what from q with (updlock) where lane = 1 order by id
GO
-- In the middle of what went, and before it.
insert q values (1, 70, 'again')
select top (1) id, what from q with (updlock) where lane = 1 order by id
delete q where lane = 1 and id = 70
select top (1) id, what from q with (updlock) where lane = 1 order by id
insert q values (1, 0, 'before all')
select top (1) id, what from q with (updlock) where lane = 1 order by id
delete q where lane = 1 and id = 0
GO
-- Not committed, rolled back, and committed by another.
begin transaction
insert q values (1, 80, 'mine')
select top (1) id, what from q with (updlock) where lane = 1 order by id
rollback transaction
select top (1) id, what from q with (updlock) where lane = 1 order by id
GO
begin transaction
delete q where lane = 1 and id <= 160
select top (1) id, what from q with (updlock) where lane = 1 order by id
rollback transaction
select top (1) id, what from q with (updlock) where lane = 1 order by id
GO
update q set id = 90 where lane = 1 and id = 199
select id, what from q with (updlock) where lane = 1 and id < 155
select count(*) as n from q where lane = 1
select count(*) as n from q with (updlock) where lane = 2
GO
checkpoint
select top (1) id, what from q with (updlock) where lane = 1 order by id
delete q where lane = 1
select top (1) id, what from q with (updlock) where lane = 1 order by id
select min(id) as first from q with (updlock)
GO
drop table q
