create procedure sys.sp_fulltext_database @action varchar(20)
as
-- Every database has full-text search: the action is looked at and does nothing, as in the product.
if @action not in ('enable', 'disable') raiserror(15600, -1, -1, 'sys.sp_fulltext_database')
GO
create procedure sys.sp_fulltext_catalog @ftcat sysname, @action varchar(20), @path nvarchar(101) = null
as
set nocount on
declare @text nvarchar(max) = case @action
    when 'create' then N'create fulltext catalog ' + quotename(@ftcat)
    when 'drop' then N'drop fulltext catalog ' + quotename(@ftcat)
    when 'rebuild' then N'alter fulltext catalog ' + quotename(@ftcat) + N' rebuild' end
if @text is null and @action in ('start_full', 'start_incremental', 'stop')
begin
    if not exists (select 1 from sys.fulltext_catalogs where name = @ftcat)
    begin
        set @text = N'alter fulltext catalog ' + quotename(@ftcat) + N' reorganize'
        exec (@text)
        return 1
    end
    declare @what nvarchar(60) = case @action when 'start_full' then N' start full population'
        when 'stop' then N' stop population' else N' start incremental population' end
    select @text = string_agg(convert(nvarchar(max), N'alter fulltext index on ' + quotename(object_schema_name(i.object_id))
        + N'.' + quotename(object_name(i.object_id)) + @what), N'; ')
    from sys.fulltext_indexes i join sys.fulltext_catalogs c on c.fulltext_catalog_id = i.fulltext_catalog_id
    where c.name = @ftcat
    if @text is null return 0
end
if @text is null
begin
    raiserror(15600, -1, -1, 'sys.sp_fulltext_catalog')
    return 1
end
exec (@text)
GO
create procedure sys.sp_fulltext_table @tabname nvarchar(517), @action varchar(50), @ftcat sysname = null, @keyname sysname = null
as
set nocount on
declare @text nvarchar(max) = case @action
    when 'create' then N'create fulltext index on ' + @tabname + N' key index ' + quotename(@keyname)
        + isnull(N' on ' + quotename(@ftcat), N'') + N' with change_tracking off'
    when 'drop' then N'drop fulltext index on ' + @tabname
    when 'activate' then N'alter fulltext index on ' + @tabname + N' enable'
    when 'deactivate' then N'alter fulltext index on ' + @tabname + N' disable'
    when 'start_change_tracking' then N'alter fulltext index on ' + @tabname + N' set change_tracking manual'
    when 'stop_change_tracking' then N'alter fulltext index on ' + @tabname + N' set change_tracking off'
    when 'start_background_updateindex' then N'alter fulltext index on ' + @tabname + N' set change_tracking auto'
    when 'stop_background_updateindex' then N'alter fulltext index on ' + @tabname + N' set change_tracking manual'
    when 'update_index' then N'alter fulltext index on ' + @tabname + N' start update population'
    when 'start_full' then N'alter fulltext index on ' + @tabname + N' start full population'
    when 'start_incremental' then N'alter fulltext index on ' + @tabname + N' start incremental population'
    when 'stop' then N'alter fulltext index on ' + @tabname + N' stop population' end
if @text is null or object_id(@tabname, N'U') is null
begin
    raiserror(15600, -1, -1, 'sys.sp_fulltext_table')
    return 1
end
exec (@text)
GO
create procedure sys.sp_fulltext_column @tabname nvarchar(517), @colname sysname, @action varchar(20), @language int = null,
    @type_colname sysname = null
as
set nocount on
declare @text nvarchar(max) = case @action
    when 'add' then N'alter fulltext index on ' + @tabname + N' add (' + quotename(@colname)
        + isnull(N' type column ' + quotename(@type_colname), N'') + isnull(N' language ' + convert(nvarchar(12), @language), N'') + N')'
    when 'drop' then N'alter fulltext index on ' + @tabname + N' drop (' + quotename(@colname) + N')' end
if @text is null or object_id(@tabname, N'U') is null
begin
    raiserror(15600, -1, -1, 'sys.sp_fulltext_column')
    return 1
end
if objectproperty(object_id(@tabname), 'TableFulltextChangeTrackingOn') = 0 set @text += N' with no population'
exec (@text)
GO
create procedure sys.sp_fulltext_service @action nvarchar(100) = null, @value sql_variant = null
as
-- What it would set belongs to a service that there is not here.
if @action is null raiserror(15600, -1, -1, 'sys.sp_fulltext_service')
GO
create procedure sys.sp_help_fulltext_catalogs @fulltext_catalog_name sysname = null
as
set nocount on
select c.fulltext_catalog_id, c.name as NAME, convert(nvarchar(260), null) as PATH,
    fulltextcatalogproperty(c.name, 'PopulateStatus') as STATUS,
    (select count(*) from sys.fulltext_indexes i where i.fulltext_catalog_id = c.fulltext_catalog_id) as NUMBER_FULLTEXT_TABLES
from sys.fulltext_catalogs c
where c.name = isnull(@fulltext_catalog_name, c.name)
order by c.fulltext_catalog_id
GO
create procedure sys.sp_help_fulltext_tables @fulltext_catalog_name sysname = null, @table_name nvarchar(517) = null
as
set nocount on
select convert(sysname, object_schema_name(i.object_id)) as TABLE_OWNER, convert(sysname, object_name(i.object_id)) as TABLE_NAME,
    (select k.name from sys.indexes k where k.object_id = i.object_id and k.index_id = i.unique_index_id) as FULLTEXT_KEY_INDEX_NAME,
    objectproperty(i.object_id, 'TableFulltextKeyColumn') as FULLTEXT_KEY_COLID,
    convert(int, i.is_enabled) as FULLTEXT_INDEX_ACTIVE, c.name as FULLTEXT_CATALOG_NAME
from sys.fulltext_indexes i join sys.fulltext_catalogs c on c.fulltext_catalog_id = i.fulltext_catalog_id
where c.name = isnull(@fulltext_catalog_name, c.name) and i.object_id = isnull(object_id(@table_name), i.object_id)
order by 1, 2
GO
create procedure sys.sp_help_fulltext_columns @table_name nvarchar(517) = null, @column_name sysname = null
as
set nocount on
select convert(sysname, object_schema_name(f.object_id)) as TABLE_OWNER, f.object_id as TABLE_ID,
    convert(sysname, object_name(f.object_id)) as TABLE_NAME, convert(sysname, col_name(f.object_id, f.column_id)) as FULLTEXT_COLUMN_NAME,
    f.column_id as FULLTEXT_COLID, convert(sysname, col_name(f.object_id, f.type_column_id)) as FULLTEXT_BLOBTP_COLNAME,
    f.type_column_id as FULLTEXT_BLOBTP_COLID, f.language_id as FULLTEXT_LANGUAGE
from sys.fulltext_index_columns f
where f.object_id = isnull(object_id(@table_name), f.object_id)
    and col_name(f.object_id, f.column_id) = isnull(@column_name, col_name(f.object_id, f.column_id))
order by 1, 3, f.column_id
