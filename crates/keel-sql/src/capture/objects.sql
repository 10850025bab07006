create user cdc without login
GO
create schema cdc authorization cdc
GO
create table cdc.change_tables (object_id int not null, version int null, source_object_id int null,
    capture_instance sysname not null, start_lsn binary(10) null, end_lsn binary(10) null, supports_net_changes bit null,
    has_drop_pending bit null, role_name sysname null, index_name sysname null, filegroup_name sysname null,
    create_date datetime null, partition_switch bit not null)
create unique clustered index change_tables_clustered_idx on cdc.change_tables (object_id)
create unique index change_tables_unique_idx on cdc.change_tables (capture_instance)
create index source_object_id_idx on cdc.change_tables (source_object_id)
create table cdc.captured_columns (object_id int not null, column_name sysname not null, column_id int null,
    column_type sysname not null, column_ordinal int not null, is_computed bit null, masking_function nvarchar(4000) null)
create unique clustered index captured_columns_clustered_idx on cdc.captured_columns (object_id, column_ordinal)
create table cdc.index_columns (object_id int not null, column_name sysname not null, index_ordinal tinyint not null,
    column_id int not null)
create unique clustered index index_columns_clustered_idx on cdc.index_columns (object_id, index_ordinal)
create table cdc.ddl_history (source_object_id int null, object_id int not null, required_column_update bit null,
    ddl_command nvarchar(max) null, ddl_lsn binary(10) not null, ddl_time datetime null)
create clustered index ddl_history_clustered_idx on cdc.ddl_history (object_id, ddl_lsn)
create table cdc.lsn_time_mapping (start_lsn binary(10) not null, tran_begin_time datetime null, tran_end_time datetime null,
    tran_id varbinary(10) null, tran_begin_lsn binary(10) null)
create unique clustered index lsn_time_mapping_clustered_idx on cdc.lsn_time_mapping (start_lsn)
create index lsn_time_mapping_nonunique_idx on cdc.lsn_time_mapping (tran_end_time)
