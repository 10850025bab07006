-- DATA_COMPRESSION is remembered and shown.
create table heap (a int) with (data_compression = page)
create table keyed (a int constraint pk primary key with (data_compression = row), b int, index ib (b) with (data_compression = page))
create index ic on keyed (b, a)
select object_name(object_id) as t, index_id, data_compression, data_compression_desc from sys.partitions where object_id in (object_id('heap'), object_id('keyed')) order by t, index_id
alter table heap rebuild with (data_compression = none)
alter index ic on keyed rebuild with (data_compression = row)
alter index ib on keyed rebuild
alter table keyed rebuild with (data_compression = page)
select object_name(object_id) as t, index_id, data_compression_desc from sys.partitions where object_id in (object_id('heap'), object_id('keyed')) order by t, index_id
create clustered index ch on heap (a) with (data_compression = row)
select data_compression_desc from sys.partitions where object_id = object_id('heap')
create partition function pf (int) as range right for values (10, 20, 30)
create partition scheme ps as partition pf all to ([primary])
create table parted (a int) on ps (a) with (data_compression = row on partitions (1), data_compression = page on partitions (2 to 3))
select partition_number, data_compression_desc from sys.partitions where object_id = object_id('parted') order by partition_number
alter table parted rebuild partition = 4 with (data_compression = page)
alter table parted rebuild partition = 2 with (data_compression = none)
select partition_number, data_compression_desc from sys.partitions where object_id = object_id('parted') order by partition_number
alter table parted rebuild with (data_compression = row)
select distinct data_compression_desc from sys.partitions where object_id = object_id('parted')
drop table heap, keyed, parted
