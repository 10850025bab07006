-- Change data capture: what is captured of each kind of change, and what the functions tell of it.
create database shop
GO
use shop
exec sys.sp_cdc_enable_db
create table dbo.item (id int not null constraint pk_item primary key, name nvarchar(30) null, price decimal(9, 2) null, twice as id * 2)
insert dbo.item values (1, N'before', 1)
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null
exec sys.sp_cdc_scan
GO
-- Enabling is a transaction that is told: there is a greatest LSN from the beginning.
select case when sys.fn_cdc_get_min_lsn(N'dbo_item') <= sys.fn_cdc_get_max_lsn() then 'in order' end as lsns, (select count(*) from cdc.dbo_item_CT) as rows_
GO
insert dbo.item values (2, N'two', 2), (3, N'three', 3)
update dbo.item set price = price + 1 where id < 3
-- Nothing is another than it was: nothing is captured.
update dbo.item set price = price
delete dbo.item where id = 3
begin transaction
insert dbo.item values (4, null, null)
update dbo.item set name = N'four', price = 4 where id = 4
rollback
begin transaction
insert dbo.item values (5, N'five', 5)
save transaction s
insert dbo.item values (6, N'six', 6)
rollback transaction s
update dbo.item set name = N'fünf' where id = 5
commit
GO
-- Nothing is told before it is told.
select count(*) as told from cdc.dbo_item_CT
exec sys.sp_cdc_scan
select dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, __$update_mask as mask, id, name, price, twice, __$command_id as command, __$end_lsn as end_
from cdc.dbo_item_CT order by __$start_lsn, __$seqval, __$operation
GO
declare @from binary(10) = sys.fn_cdc_get_min_lsn(N'dbo_item'), @to binary(10) = sys.fn_cdc_get_max_lsn()
select dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, __$update_mask as mask, id, name, price, twice
from cdc.fn_cdc_get_all_changes_dbo_item(@from, @to, N'all') order by __$start_lsn, __$seqval, __$operation
select count(*) as all_with_old from cdc.fn_cdc_get_all_changes_dbo_item(@from, @to, N' All Update Old ')
select __$operation as op, __$update_mask as mask, id, name, price from cdc.fn_cdc_get_net_changes_dbo_item(@from, @to, N'all') order by id
select __$operation as op, __$update_mask as mask, id, name, price from cdc.fn_cdc_get_net_changes_dbo_item(@from, @to, N'all with mask') order by id
select __$operation as op, __$update_mask as mask, id, name, price from cdc.fn_cdc_get_net_changes_dbo_item(@from, @to, N'all with merge') order by id
-- From another database.
use master
select count(*) as rows_ from shop.cdc.fn_cdc_get_all_changes_dbo_item(@from, shop.sys.fn_cdc_get_max_lsn(), N'all')
select case when shop.sys.fn_cdc_get_min_lsn(N'dbo_item') = @from then 'same' end as least
use shop
GO
-- What is out of range is error 313, and so is an option that there is not.
declare @from binary(10) = sys.fn_cdc_get_min_lsn(N'dbo_item'), @to binary(10) = sys.fn_cdc_get_max_lsn()
select count(*) from cdc.fn_cdc_get_all_changes_dbo_item(sys.fn_cdc_decrement_lsn(@from), @to, N'all')
GO
declare @from binary(10) = sys.fn_cdc_get_min_lsn(N'dbo_item'), @to binary(10) = sys.fn_cdc_get_max_lsn()
select count(*) from cdc.fn_cdc_get_all_changes_dbo_item(@from, sys.fn_cdc_increment_lsn(@to), N'all')
GO
declare @from binary(10) = sys.fn_cdc_get_min_lsn(N'dbo_item'), @to binary(10) = sys.fn_cdc_get_max_lsn()
select count(*) from cdc.fn_cdc_get_all_changes_dbo_item(@to, @from, N'all')
GO
declare @to binary(10) = sys.fn_cdc_get_max_lsn()
select count(*) from cdc.fn_cdc_get_net_changes_dbo_item(null, @to, N'all')
GO
declare @from binary(10) = sys.fn_cdc_get_min_lsn(N'dbo_item'), @to binary(10) = sys.fn_cdc_get_max_lsn()
select count(*) from cdc.fn_cdc_get_net_changes_dbo_item(@from, @to, N'all update old')
GO
-- LSNs and times.
select sys.fn_cdc_increment_lsn(0x000000000000000000FF) as up, sys.fn_cdc_increment_lsn(0x00000000FFFFFFFFFFFF) as carried,
    sys.fn_cdc_decrement_lsn(0x00000001000000000000) as down, sys.fn_cdc_increment_lsn(null) as none
declare @last binary(10) = sys.fn_cdc_get_max_lsn()
declare @time datetime = sys.fn_cdc_map_lsn_to_time(@last)
select case when abs(datediff(second, @time, getdate())) < 60 then 'now' end as time_,
    case when sys.fn_cdc_map_time_to_lsn('largest less than or equal', @time) = @last then 'same' end as le,
    case when sys.fn_cdc_map_time_to_lsn('smallest greater than', @time) is null then 'none' end as gt,
    case when sys.fn_cdc_map_time_to_lsn('Largest Less Than', '2000-01-01') is null then 'none' end as lt,
    case when sys.fn_cdc_map_time_to_lsn('smallest greater than or equal', '2000-01-01') = (select min(start_lsn) from cdc.lsn_time_mapping) then 'first' end as ge
select case when count(distinct start_lsn) = count(*) then 'unique' end as lsns, sum(case when tran_begin_lsn <= start_lsn and tran_begin_time <= tran_end_time and tran_id <> 0x00 then 0 else 1 end) as wrong
from cdc.lsn_time_mapping
select sys.fn_cdc_get_min_lsn(N'nothing') as of_nothing, sys.fn_cdc_get_column_ordinal(N'dbo_item', N'price') as ordinal, sys.fn_cdc_get_column_ordinal(N'dbo_item', N'x') as none
select sys.fn_cdc_is_bit_set(1, 0x05) as one, sys.fn_cdc_is_bit_set(2, 0x05) as two, sys.fn_cdc_is_bit_set(9, 0x0100) as nine, sys.fn_cdc_is_bit_set(9, 0x01) as beyond,
    sys.fn_cdc_has_column_changed(N'dbo_item', N'price', 0x04) as price, sys.fn_cdc_has_column_changed(N'dbo_item', N'name', 0x04) as name
GO
-- Keys that move are rows that go and come.
update dbo.item set id = id + 10 where id < 3
update dbo.item set id = case id when 11 then 12 else 11 end where id in (11, 12)
exec sys.sp_cdc_scan
declare @from binary(10) = sys.fn_cdc_map_time_to_lsn('smallest greater than or equal', '2000-01-01')
select dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, id, name from cdc.dbo_item_CT where __$command_id > 0 and id > 10 or id < 3 and __$operation = 1 order by __$start_lsn, __$seqval, __$operation
select __$operation as op, id, name, price from cdc.fn_cdc_get_net_changes_dbo_item(sys.fn_cdc_get_min_lsn(N'dbo_item'), sys.fn_cdc_get_max_lsn(), N'all') order by id
select id, name, price from dbo.item order by id
GO
-- MERGE, cascades, triggers, views and OUTPUT.
create table dbo.parent (id int primary key, a int)
create table dbo.child (id int primary key, parent int references dbo.parent (id) on delete cascade on update cascade)
create table dbo.log_ (n int identity primary key, what varchar(20))
exec sys.sp_cdc_enable_table N'dbo', N'parent', @role_name = null
exec sys.sp_cdc_enable_table N'dbo', N'child', @role_name = null
exec sys.sp_cdc_enable_table N'dbo', N'log_', @role_name = null
GO
create trigger dbo.t_child on dbo.child after delete as insert dbo.log_ (what) select 'gone' from deleted
GO
create view dbo.v as select id, a from dbo.parent where a > 0
GO
insert dbo.v values (1, 1), (2, 2), (3, 3)
insert dbo.child values (1, 1), (2, 1), (3, 2)
merge dbo.parent t using (values (1, 9), (4, 4)) s (id, a) on t.id = s.id
when matched then update set a = s.a when not matched then insert values (s.id, s.a) when not matched by source and t.id = 3 then delete;
update dbo.parent set id = 20 where id = 2
delete dbo.parent where id = 1
delete dbo.child output deleted.id where id = 3
exec sys.sp_cdc_scan
select 'parent' as t, dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, id, a from cdc.dbo_parent_CT order by __$start_lsn, __$seqval, __$operation
select 'child' as t, dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, id, parent from cdc.dbo_child_CT order by __$start_lsn, __$seqval, __$operation
select 'log' as t, dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, n, what from cdc.dbo_log__CT order by __$start_lsn, __$seqval, __$operation
-- A cascade belongs to its statement's transaction, in the order in which rows were changed.
select p.__$operation as parent, c.__$operation as child, c.id, case when c.__$seqval > p.__$seqval then 'later' end as order_
from cdc.dbo_parent_CT p join cdc.dbo_child_CT c on c.__$start_lsn = p.__$start_lsn order by p.__$start_lsn, c.__$seqval, c.__$operation
GO
-- Types: large values are in the row before an update only when it changed them.
create table dbo.wide (id int primary key, b bit, t tinyint, s smallint, i bigint, d decimal(20, 5), m money, f float, r real, dt datetime, d2 datetime2(3), do datetimeoffset(7), da date,
    ti time(2), c char(5), v varchar(20) collate Latin1_General_CS_AS, n nchar(5), nv nvarchar(max), vb varbinary(max), bi binary(4), u uniqueidentifier, x xml, sv sql_variant, te text, h hierarchyid, stamp rowversion)
exec sys.sp_cdc_enable_table N'dbo', N'wide', @role_name = null
GO
insert dbo.wide (id, b, t, s, i, d, m, f, r, dt, d2, do, da, ti, c, v, n, nv, vb, bi, u, x, sv, te, h) values (1, 1, 2, 3, 4, 5.5, 6.6, 7.7, 8.8, '2020-01-02T03:04:05', '2020-01-02T03:04:05.678', '2020-01-02T03:04:05.1234567+02:00', '2020-01-02',
    '03:04:05.67', 'abc', 'Äb', N'ü', replicate(N'n', 5000), 0x0102, 0x03, '00112233-4455-6677-8899-aabbccddeeff', '<a/>', 17, 'text', '/1/')
update dbo.wide set i = 5
update dbo.wide set nv = N'short', te = 'other'
delete dbo.wide
exec sys.sp_cdc_scan
select __$operation as op, __$update_mask as mask, b, t, s, i, d, m, f, r, dt, d2, do, da, ti, c, v, n, len(nv) as nv, vb, bi, u, x, sv, te, h.ToString() as h, datalength(stamp) as stamp
from cdc.dbo_wide_CT order by __$start_lsn, __$seqval, __$operation
select collation_name from sys.columns where object_id = object_id('cdc.dbo_wide_CT') and name = 'v'
GO
-- Many columns: the mask's last byte has the first eight.
declare @sql nvarchar(max) = N'create table dbo.many (id int primary key'
select @sql += N', c' + convert(nvarchar(3), value) + N' int' from generate_series(2, 20)
set @sql += N')'
exec (@sql)
exec sys.sp_cdc_enable_table N'dbo', N'many', @role_name = null
insert dbo.many (id) values (1)
update dbo.many set c9 = 1, c2 = 1
update dbo.many set c20 = 1
exec sys.sp_cdc_scan
select __$operation as op, __$update_mask as mask from cdc.dbo_many_CT order by __$start_lsn, __$seqval, __$operation
declare @from binary(10) = (select max(__$start_lsn) from cdc.dbo_many_CT where __$operation = 2)
select __$operation as op, __$update_mask as mask from cdc.fn_cdc_get_net_changes_dbo_many(sys.fn_cdc_increment_lsn(@from), sys.fn_cdc_get_max_lsn(), N'all with mask')
select __$operation as op, sys.fn_cdc_has_column_changed(N'dbo_many', N'c9', __$update_mask) as c9, sys.fn_cdc_has_column_changed(N'dbo_many', N'c20', __$update_mask) as c20
from cdc.fn_cdc_get_all_changes_dbo_many(@from, sys.fn_cdc_get_max_lsn(), N'all') order by __$start_lsn
GO
-- Two instances of a table have the same LSNs, and what neither captures is in neither.
create table dbo.two (id int primary key, a int, b int)
exec sys.sp_cdc_enable_table N'dbo', N'two', N'two_a', @role_name = null, @captured_column_list = N'id, a'
exec sys.sp_cdc_enable_table N'dbo', N'two', N'two_b', @role_name = null, @captured_column_list = N'id, b'
insert dbo.two values (1, 1, 1)
update dbo.two set a = 2
update dbo.two set b = 2
exec sys.sp_cdc_scan
select a.__$operation as op_a, a.__$update_mask as mask_a, a.a, b.__$operation as op_b, b.__$update_mask as mask_b, b.b
from cdc.two_a_CT a full join cdc.two_b_CT b on a.__$start_lsn = b.__$start_lsn and a.__$seqval = b.__$seqval and a.__$operation = b.__$operation
order by isnull(a.__$start_lsn, b.__$start_lsn), isnull(a.__$operation, b.__$operation)
select count(*) as sessions, sum(case when tran_count > 0 and latency >= 0 then 1 end) as right_ from sys.dm_cdc_log_scan_sessions
select count(*) as errors from sys.dm_cdc_errors
GO
-- Masks of columns go along: a change is not told to whom its row is not shown.
create table dbo.secret (id int primary key, card varchar(20) masked with (function = 'partial(0, "xxxx", 4)'), salary int masked with (function = 'default()'))
exec sys.sp_cdc_enable_table N'dbo', N'secret', @role_name = null
insert dbo.secret values (1, '1111222233334444', 5000)
exec sys.sp_cdc_scan
create user plain without login
grant select on dbo.secret to plain
select column_name, masking_function from cdc.captured_columns where object_id = object_id('cdc.dbo_secret_CT') order by column_ordinal
GO
execute as user = 'plain'
select id, card, salary from cdc.fn_cdc_get_all_changes_dbo_secret(sys.fn_cdc_get_min_lsn(N'dbo_secret'), sys.fn_cdc_get_max_lsn(), N'all')
revert
select id, card, salary from cdc.fn_cdc_get_all_changes_dbo_secret(sys.fn_cdc_get_min_lsn(N'dbo_secret'), sys.fn_cdc_get_max_lsn(), N'all')
-- What is known of change tables and what can be checked.
select t.name, p.rows from sys.partitions p join sys.tables t on t.object_id = p.object_id where t.schema_id = schema_id('cdc') and t.name in ('dbo_secret_CT', 'dbo_many_CT', 'two_a_CT') order by t.name
dbcc checkdb with no_infomsgs
GO
-- Indexes on a change table are kept.
create index by_card on cdc.dbo_secret_CT (card) include (salary)
create unique index by_id on cdc.dbo_secret_CT (id, __$start_lsn, __$operation)
insert dbo.secret values (2, '2222', 6000), (3, '3333', 7000)
update dbo.secret set salary = 1 where id = 2
exec sys.sp_cdc_scan
select card, salary from cdc.dbo_secret_CT with (index (by_card)) where card = '2222' order by salary
select id from cdc.dbo_secret_CT with (index (by_id)) where id > 1 order by id, __$start_lsn, __$operation
dbcc checkdb with no_infomsgs
GO
create index filtered on cdc.dbo_secret_CT (card) where salary > 1
GO
drop index dbo_secret_CT_clustered_idx on cdc.dbo_secret_CT
GO
-- System-versioned tables, both halves.
create table dbo.v_ (id int primary key, a int, f datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (f, t))
with (system_versioning = on (history_table = dbo.v_history))
exec sys.sp_cdc_enable_table N'dbo', N'v_', @role_name = null
exec sys.sp_cdc_enable_table N'dbo', N'v_history', @role_name = null
insert dbo.v_ (id, a) values (1, 1)
update dbo.v_ set a = 2
delete dbo.v_
exec sys.sp_cdc_scan
select 'v' as t, __$operation as op, __$update_mask as mask, id, a from cdc.dbo_v__CT order by __$start_lsn, __$seqval, __$operation
select 'history' as t, __$operation as op, id, a from cdc.dbo_v_history_CT order by __$start_lsn, __$seqval
GO
-- What refers to the row: SET NULL and SET DEFAULT. INSERT … EXEC, SELECT … INTO beside it, a unique key that is ignored twice.
create table dbo.p (id int primary key)
create table dbo.c1 (id int primary key, p int null references dbo.p (id) on delete set null)
create table dbo.c2 (id int primary key, p int null default 9 references dbo.p (id) on delete set default)
create table dbo.once (id int)
create unique clustered index once_ on dbo.once (id) with (ignore_dup_key = on)
insert dbo.p values (1), (9)
insert dbo.c1 values (1, 1)
insert dbo.c2 values (1, 1)
exec sys.sp_cdc_enable_table N'dbo', N'c1', @role_name = null
exec sys.sp_cdc_enable_table N'dbo', N'c2', @role_name = null
exec sys.sp_cdc_enable_table N'dbo', N'once', @role_name = null
delete dbo.p where id = 1
insert dbo.once exec (N'select 1 union all select 1 union all select 2')
exec sys.sp_cdc_scan
select 'c1' as t, __$operation as op, id, p from cdc.dbo_c1_CT order by __$seqval, __$operation
select 'c2' as t, __$operation as op, id, p from cdc.dbo_c2_CT order by __$seqval, __$operation
select 'once' as t, __$operation as op, id from cdc.dbo_once_CT order by __$seqval, __$operation
GO
-- A heap, a failed statement and a caught error leave nothing of what did not happen.
create table dbo.heap (a int not null constraint low check (a < 100), b text)
exec sys.sp_cdc_enable_table N'dbo', N'heap', @role_name = null
insert dbo.heap values (1, 'x'), (1, 'x')
GO
insert dbo.heap values (2, 'y'), (200, 'y')
GO
begin try
    begin transaction
    update dbo.heap set a = 3
    update dbo.heap set a = 300
end try
begin catch
    commit
end catch
delete top (1) from dbo.heap
exec sys.sp_cdc_scan
select dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, a, b from cdc.dbo_heap_CT order by __$start_lsn, __$seqval, __$operation
GO
