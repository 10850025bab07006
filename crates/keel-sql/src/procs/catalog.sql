create procedure sys.sp_sequence_get_range @sequence_name nvarchar(776), @range_size bigint,
    @range_first_value sql_variant output, @range_last_value sql_variant = null output, @range_cycle_count int = null output,
    @sequence_increment sql_variant = null output, @sequence_min_value sql_variant = null output,
    @sequence_max_value sql_variant = null output
as
declare @id int = object_id(@sequence_name, 'SO'), @i bigint = 1, @next bigint, @first bigint, @sql nvarchar(max)
if @id is null
begin
    raiserror('Invalid object name ''%s''.', 16, 1, @sequence_name)
    return 1
end
if @range_size is null or @range_size < 1
begin
    raiserror('The range size must be positive.', 16, 1)
    return 1
end
select @sequence_increment = increment, @sequence_min_value = minimum_value, @sequence_max_value = maximum_value,
    @range_cycle_count = 0
from sys.sequences where object_id = @id
set @sql = N'set @next = next value for ' + quotename(object_schema_name(@id)) + N'.' + quotename(object_name(@id))
while @i <= @range_size
begin
    exec sp_executesql @sql, N'@next bigint output', @next output
    if @i = 1 set @first = @next
    set @i += 1
end
select @range_first_value = @first, @range_last_value = @next
return 0
GO
create procedure sys.sp_tables @table_name nvarchar(384) = null, @table_owner nvarchar(384) = null,
    @table_qualifier sysname = null, @table_type varchar(100) = null, @fUsePattern bit = 1
as
if @table_qualifier = '%' and @table_name = '' and @table_owner = ''
    select convert(sysname, d.name) as TABLE_QUALIFIER, convert(sysname, null) as TABLE_OWNER,
        convert(sysname, null) as TABLE_NAME, convert(varchar(32), null) as TABLE_TYPE, convert(varchar(254), null) as REMARKS
    from sys.databases d order by 1
else if @table_owner = '%' and @table_name = '' and @table_qualifier = ''
    select convert(sysname, null) as TABLE_QUALIFIER, convert(sysname, s.name) as TABLE_OWNER,
        convert(sysname, null) as TABLE_NAME, convert(varchar(32), null) as TABLE_TYPE, convert(varchar(254), null) as REMARKS
    from sys.schemas s order by 2
else if @table_type = '%' and @table_name = '' and @table_owner = '' and @table_qualifier = ''
    select convert(sysname, null) as TABLE_QUALIFIER, convert(sysname, null) as TABLE_OWNER,
        convert(sysname, null) as TABLE_NAME, convert(varchar(32), k.kind) as TABLE_TYPE, convert(varchar(254), null) as REMARKS
    from (values ('SYSTEM TABLE'), ('TABLE'), ('VIEW')) k (kind)
else
    select convert(sysname, db_name()) as TABLE_QUALIFIER, convert(sysname, x.owner) as TABLE_OWNER,
        convert(sysname, x.name) as TABLE_NAME, convert(varchar(32), x.kind) as TABLE_TYPE, convert(varchar(254), null) as REMARKS
    from (
        select schema_name(o.schema_id) as owner, o.name,
            case when o.schema_id in (3, 4) then case o.type when 'V' then 'VIEW' else 'SYSTEM TABLE' end
                 when o.type = 'U' then 'TABLE' else 'VIEW' end as kind
        from sys.all_objects o where o.type in ('U', 'V', 'S')) x
    where (@table_name is null or (@fUsePattern = 1 and x.name like @table_name escape '\') or x.name = @table_name)
        and (@table_owner is null or (@fUsePattern = 1 and x.owner like @table_owner escape '\') or x.owner = @table_owner)
        and (@table_qualifier is null or @table_qualifier = db_name())
        and (@table_type is null or charindex('''' + x.kind + '''', @table_type) > 0 or @table_type = x.kind)
    order by 4, 1, 2, 3
GO
create procedure sys.sp_tableswc @table_name nvarchar(384) = null, @table_owner nvarchar(384) = null,
    @table_qualifier sysname = null, @table_type varchar(100) = null, @fUsePattern bit = 1
as
set nocount on
declare @found table (TABLE_QUALIFIER sysname, TABLE_OWNER sysname, TABLE_NAME sysname, TABLE_TYPE varchar(32), REMARKS varchar(254))
declare @database sysname = (select min(name) from sys.databases where name like @table_qualifier escape '\'), @call nvarchar(300)
while @database is not null
begin
    if has_dbaccess(@database) = 1
    begin
        set @call = quotename(@database) + N'.sys.sp_tables'
        insert @found exec @call @table_name, @table_owner, @database, @table_type, @fUsePattern
    end
    set @database = (select min(name) from sys.databases where name > @database and name like @table_qualifier escape '\')
end
select TABLE_QUALIFIER, TABLE_OWNER, TABLE_NAME, TABLE_TYPE, convert(varchar(254), REMARKS) as REMARKS from @found order by 4, 1, 2, 3
return 0
GO
create procedure sys.sp_columns @table_name nvarchar(384), @table_owner nvarchar(384) = null,
    @table_qualifier sysname = null, @column_name nvarchar(384) = null, @ODBCVer int = 2
as
select convert(sysname, db_name()) as TABLE_QUALIFIER, TABLE_OWNER, TABLE_NAME, COLUMN_NAME,
    convert(smallint, case when @ODBCVer >= 3 and DATA_TYPE_2 = 11 then 93 else DATA_TYPE_2 end) as DATA_TYPE,
    TYPE_NAME, [PRECISION], LENGTH, SCALE, RADIX, NULLABLE, REMARKS, COLUMN_DEF, SQL_DATA_TYPE, SQL_DATETIME_SUB,
    CHAR_OCTET_LENGTH, ORDINAL_POSITION, IS_NULLABLE, SS_DATA_TYPE
from sys.spt_columns_odbc_view
where TABLE_NAME like @table_name escape '\'
    and (@table_owner is null or TABLE_OWNER like @table_owner escape '\')
    and (@column_name is null or COLUMN_NAME like @column_name escape '\')
order by 1, 2, 3, 17
GO
create procedure sys.sp_columns_100 @table_name nvarchar(384) = null, @table_owner nvarchar(384) = null,
    @table_qualifier sysname = null, @column_name nvarchar(384) = null, @NameScope int = 0, @ODBCVer int = 2,
    @fUsePattern bit = 1
as
select convert(sysname, db_name()) as TABLE_QUALIFIER, TABLE_OWNER, TABLE_NAME, COLUMN_NAME,
    convert(smallint, case when @ODBCVer >= 3 then DATA_TYPE else case DATA_TYPE when 91 then 9 when 93 then 11 when -154 then -154 when -155 then -155 else DATA_TYPE_2 end end) as DATA_TYPE,
    TYPE_NAME, [PRECISION], LENGTH, SCALE, RADIX, NULLABLE, REMARKS, COLUMN_DEF, SQL_DATA_TYPE, SQL_DATETIME_SUB,
    CHAR_OCTET_LENGTH, ORDINAL_POSITION, IS_NULLABLE, convert(smallint, 0) as SS_IS_SPARSE,
    convert(smallint, 0) as SS_IS_COLUMN_SET, SS_IS_COMPUTED, SS_IS_IDENTITY,
    convert(sysname, null) as SS_UDT_CATALOG_NAME, convert(sysname, null) as SS_UDT_SCHEMA_NAME,
    convert(nvarchar(4000), null) as SS_UDT_ASSEMBLY_TYPE_NAME, convert(sysname, null) as SS_XML_SCHEMACOLLECTION_CATALOG_NAME,
    convert(sysname, null) as SS_XML_SCHEMACOLLECTION_SCHEMA_NAME, convert(sysname, null) as SS_XML_SCHEMACOLLECTION_NAME,
    SS_DATA_TYPE
from (select * from sys.spt_columns_odbc_view where isnull(@NameScope, 0) in (0, 2)
    union all select * from sys.spt_table_type_columns_odbc_view where @NameScope = 1) c
where (@table_name is null or (@fUsePattern = 1 and TABLE_NAME like @table_name escape '\') or TABLE_NAME = @table_name)
    and (@table_owner is null or (@fUsePattern = 1 and TABLE_OWNER like @table_owner escape '\') or TABLE_OWNER = @table_owner)
    and (@column_name is null or (@fUsePattern = 1 and COLUMN_NAME like @column_name escape '\') or COLUMN_NAME = @column_name)
order by 1, 2, 3, 17
GO
create procedure sys.sp_table_type_columns_100 @table_name nvarchar(384) = null, @table_owner nvarchar(384) = null,
    @table_qualifier sysname = null, @column_name nvarchar(384) = null, @ODBCVer int = 2, @fUsePattern bit = 1
as
exec sys.sp_columns_100 @table_name, @table_owner, @table_qualifier, @column_name, 1, @ODBCVer, @fUsePattern
GO
create procedure sys.sp_table_type_pkeys @table_name sysname, @table_owner sysname = null, @table_qualifier sysname = null
as
select convert(sysname, db_name()) as TABLE_QUALIFIER, convert(sysname, schema_name(t.schema_id)) as TABLE_OWNER,
    convert(sysname, t.name) as TABLE_NAME, convert(sysname, c.name) as COLUMN_NAME,
    convert(smallint, k.key_ordinal) as KEY_SEQ, convert(sysname, i.name) as PK_NAME
from sys.table_types t
join sys.indexes i on i.object_id = t.type_table_object_id and i.is_primary_key = 1
join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id and k.key_ordinal > 0
join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id
where t.name = @table_name and (@table_owner is null or schema_name(t.schema_id) = @table_owner)
order by 1, 2, 3, 5
GO
create procedure sys.sp_table_types @table_name nvarchar(384) = null, @table_owner nvarchar(384) = null,
    @table_qualifier sysname = null, @table_type varchar(100) = null, @fUsePattern bit = 1
as
select convert(sysname, db_name()) as TABLE_QUALIFIER, convert(sysname, schema_name(t.schema_id)) as TABLE_OWNER,
    convert(sysname, t.name) as TABLE_NAME, convert(varchar(32), 'TABLE TYPE') as TABLE_TYPE, convert(varchar(254), null) as REMARKS
from sys.table_types t
where (@table_name is null or (@fUsePattern = 1 and t.name like @table_name escape '\') or t.name = @table_name)
    and (@table_owner is null or (@fUsePattern = 1 and schema_name(t.schema_id) like @table_owner escape '\')
        or schema_name(t.schema_id) = @table_owner)
    and (@table_qualifier is null or @table_qualifier = db_name())
    and (@table_type is null or @table_type = 'TABLE TYPE' or charindex('''TABLE TYPE''', @table_type) > 0)
order by 4, 1, 2, 3
GO
create procedure sys.sp_columns_managed @Catalog nvarchar(128) = null, @Owner nvarchar(128) = null, @Table nvarchar(128) = null,
    @Column nvarchar(128) = null, @SchemaType int = 0
as
-- No column is sparse: there is none that only a column set shows.
select TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE,
    CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_PRECISION_RADIX, NUMERIC_SCALE, DATETIME_PRECISION,
    CHARACTER_SET_CATALOG, CHARACTER_SET_SCHEMA, CHARACTER_SET_NAME, COLLATION_CATALOG, convert(bit, 0) as IS_SPARSE,
    convert(bit, 0) as IS_COLUMN_SET, convert(bit, 0) as IS_FILESTREAM
from INFORMATION_SCHEMA.COLUMNS
where (@Catalog is null or TABLE_CATALOG = @Catalog) and (@Owner is null or TABLE_SCHEMA = @Owner)
    and (@Table is null or TABLE_NAME = @Table) and (@Column is null or COLUMN_NAME = @Column) and @SchemaType in (0, 1)
order by TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
GO
create procedure sys.sp_indexes_managed @Catalog nvarchar(128) = null, @Owner nvarchar(128) = null, @Table nvarchar(128) = null,
    @Name nvarchar(128) = null
as
select db_name() as constraint_catalog, schema_name(o.schema_id) as constraint_schema, i.name as constraint_name,
    db_name() as table_catalog, schema_name(o.schema_id) as table_schema, o.name as table_name, i.name as index_name, i.type_desc
from sys.objects o
join sys.indexes i on i.object_id = o.object_id and i.index_id > 0
where o.type = 'U' and (@Catalog is null or db_name() = @Catalog) and (@Owner is null or schema_name(o.schema_id) = @Owner)
    and (@Table is null or o.name = @Table) and (@Name is null or i.name = @Name)
order by table_name, index_name
GO
create procedure sys.sp_indexcolumns_managed @Catalog nvarchar(128) = null, @Owner nvarchar(128) = null, @Table nvarchar(128) = null,
    @ConstraintName nvarchar(128) = null, @Column nvarchar(128) = null
as
select db_name() as constraint_catalog, schema_name(o.schema_id) as constraint_schema, i.name as constraint_name,
    db_name() as table_catalog, schema_name(o.schema_id) as table_schema, o.name as table_name, c.name as column_name,
    convert(int, k.key_ordinal) as ordinal_position, c.system_type_id as KeyType, i.name as index_name
from sys.objects o
join sys.indexes i on i.object_id = o.object_id and i.index_id > 0
join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id and k.key_ordinal > 0
join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id
where o.type = 'U' and (@Catalog is null or db_name() = @Catalog) and (@Owner is null or schema_name(o.schema_id) = @Owner)
    and (@Table is null or o.name = @Table) and (@ConstraintName is null or i.name = @ConstraintName)
    and (@Column is null or c.name = @Column)
order by table_name, index_name, ordinal_position
GO
create procedure sys.sp_pkeys @table_name sysname, @table_owner sysname = null, @table_qualifier sysname = null
as
select convert(sysname, db_name()) as TABLE_QUALIFIER, convert(sysname, schema_name(t.schema_id)) as TABLE_OWNER,
    convert(sysname, t.name) as TABLE_NAME, convert(sysname, c.name) as COLUMN_NAME,
    convert(smallint, k.key_ordinal) as KEY_SEQ, convert(sysname, i.name) as PK_NAME
from sys.tables t
join sys.indexes i on i.object_id = t.object_id and i.is_primary_key = 1
join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id and k.key_ordinal > 0
join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id
where t.name = @table_name and (@table_owner is null or schema_name(t.schema_id) = @table_owner)
order by 1, 2, 3, 5
GO
create procedure sys.sp_fkeys @pktable_name sysname = null, @pktable_owner sysname = null, @pktable_qualifier sysname = null,
    @fktable_name sysname = null, @fktable_owner sysname = null, @fktable_qualifier sysname = null
as
if @pktable_name is null and @fktable_name is null
begin
    raiserror(N'The primary key table name or the foreign key table name or both must be given.', 11, 1)
    return 1
end
select convert(sysname, db_name()) as PKTABLE_QUALIFIER, convert(sysname, schema_name(p.schema_id)) as PKTABLE_OWNER,
    convert(sysname, p.name) as PKTABLE_NAME, convert(sysname, pc.name) as PKCOLUMN_NAME,
    convert(sysname, db_name()) as FKTABLE_QUALIFIER, convert(sysname, schema_name(t.schema_id)) as FKTABLE_OWNER,
    convert(sysname, t.name) as FKTABLE_NAME, convert(sysname, tc.name) as FKCOLUMN_NAME,
    convert(smallint, k.constraint_column_id) as KEY_SEQ,
    convert(smallint, case f.update_referential_action when 0 then 1 when 1 then 0 else f.update_referential_action end) as UPDATE_RULE,
    convert(smallint, case f.delete_referential_action when 0 then 1 when 1 then 0 else f.delete_referential_action end) as DELETE_RULE,
    convert(sysname, f.name) as FK_NAME, convert(sysname, i.name) as PK_NAME, convert(smallint, 7) as DEFERRABILITY
from sys.foreign_keys f
join sys.foreign_key_columns k on k.constraint_object_id = f.object_id
join sys.tables p on p.object_id = f.referenced_object_id
join sys.tables t on t.object_id = f.parent_object_id
join sys.columns pc on pc.object_id = p.object_id and pc.column_id = k.referenced_column_id
join sys.columns tc on tc.object_id = t.object_id and tc.column_id = k.parent_column_id
left join sys.indexes i on i.object_id = p.object_id and i.index_id = f.key_index_id
where (@pktable_name is null or p.name = @pktable_name)
    and (isnull(@pktable_owner, '') in ('', schema_name(p.schema_id)))
    and (@fktable_name is null or t.name = @fktable_name)
    and (isnull(@fktable_owner, '') in ('', schema_name(t.schema_id)))
order by 5, 6, 7, 12, 9
GO
create procedure sys.sp_statistics @table_name sysname, @table_owner sysname = null, @table_qualifier sysname = null,
    @index_name sysname = '%', @is_unique char(1) = 'N', @accuracy char(1) = 'Q'
as
select convert(sysname, db_name()) as TABLE_QUALIFIER, convert(sysname, schema_name(t.schema_id)) as TABLE_OWNER,
    convert(sysname, t.name) as TABLE_NAME, x.NON_UNIQUE, x.INDEX_QUALIFIER, x.INDEX_NAME, x.TYPE, x.SEQ_IN_INDEX,
    x.COLUMN_NAME, x.COLLATION, x.CARDINALITY, x.PAGES, x.FILTER_CONDITION
from sys.objects t
join (
    select i.object_id, convert(smallint, 1 - i.is_unique) as NON_UNIQUE, convert(sysname, t.name) as INDEX_QUALIFIER,
        convert(sysname, i.name) as INDEX_NAME, convert(smallint, case i.type when 1 then 1 else 3 end) as TYPE,
        convert(smallint, k.key_ordinal) as SEQ_IN_INDEX, convert(sysname, c.name) as COLUMN_NAME,
        convert(char(1), case k.is_descending_key when 1 then 'D' else 'A' end) as COLLATION,
        convert(int, s.rows) as CARDINALITY, convert(int, s.data_kb / 8) as PAGES,
        convert(varchar(128), i.filter_definition) as FILTER_CONDITION
    from sys.indexes i
    join sys.objects t on t.object_id = i.object_id
    join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id and k.key_ordinal > 0
    join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id
    join sys.spt_index_space_view s on s.object_id = i.object_id and s.index_id = i.index_id
    where i.name like @index_name and (@is_unique <> 'Y' or i.is_unique = 1)
    union all
    select s.object_id, null, null, null, convert(smallint, 0), null, null, null, convert(int, s.rows),
        convert(int, s.data_kb / 8), null
    from sys.spt_index_space_view s where s.index_id < 2) x on x.object_id = t.object_id
where t.type in ('U', 'V') and t.name = @table_name and (@table_owner is null or schema_name(t.schema_id) = @table_owner)
order by 4, 7, 6, 8
GO
create procedure sys.sp_statistics_100 @table_name sysname, @table_owner sysname = null, @table_qualifier sysname = null,
    @index_name sysname = '%', @is_unique char(1) = 'N', @accuracy char(1) = 'Q'
as
exec sys.sp_statistics @table_name, @table_owner, @table_qualifier, @index_name, @is_unique, @accuracy
GO
create procedure sys.sp_special_columns @table_name sysname, @table_owner sysname = null, @table_qualifier sysname = null,
    @col_type char(1) = 'R', @scope char(1) = 'T', @nullable char(1) = 'U', @ODBCVer int = 2
as
declare @id int, @index int
select @id = t.object_id from sys.tables t
where t.name = @table_name and (@table_owner is null or schema_name(t.schema_id) = @table_owner)
if @col_type = 'R'
    select top 1 @index = i.index_id from sys.indexes i
    where i.object_id = @id and i.is_unique = 1
        and (@nullable = 'U' or not exists (
            select * from sys.index_columns k join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id
            where k.object_id = i.object_id and k.index_id = i.index_id and c.is_nullable = 1))
    order by i.is_primary_key desc, i.index_id
select convert(smallint, case when @col_type = 'R' then 0 end) as SCOPE, v.COLUMN_NAME,
    convert(smallint, case when @ODBCVer >= 3 then v.DATA_TYPE else v.DATA_TYPE_2 end) as DATA_TYPE,
    v.TYPE_NAME, v.[PRECISION], v.LENGTH, v.SCALE, convert(smallint, 1) as PSEUDO_COLUMN
from sys.spt_columns_odbc_view v
left join sys.columns c on c.object_id = v.OBJECT_ID and c.name = v.COLUMN_NAME
left join sys.index_columns k on k.object_id = c.object_id and k.column_id = c.column_id and k.index_id = @index and k.key_ordinal > 0
where v.OBJECT_ID = @id and ((@col_type = 'R' and k.key_ordinal > 0) or (@col_type = 'V' and v.TYPE_NAME = 'timestamp'))
order by k.key_ordinal
GO
create procedure sys.sp_special_columns_100 @table_name sysname, @table_owner sysname = null, @table_qualifier sysname = null,
    @col_type char(1) = 'R', @scope char(1) = 'T', @nullable char(1) = 'U', @ODBCVer int = 2
as
exec sys.sp_special_columns @table_name, @table_owner, @table_qualifier, @col_type, @scope, @nullable, @ODBCVer
GO
create procedure sys.sp_stored_procedures @sp_name nvarchar(390) = null, @sp_owner nvarchar(384) = null,
    @sp_qualifier sysname = null, @fUsePattern bit = 1
as
select convert(sysname, db_name()) as PROCEDURE_QUALIFIER, convert(sysname, schema_name(o.schema_id)) as PROCEDURE_OWNER,
    convert(nvarchar(134), o.name + case when o.type = 'P' then ';1' else ';0' end) as PROCEDURE_NAME,
    convert(int, -1) as NUM_INPUT_PARAMS, convert(int, -1) as NUM_OUTPUT_PARAMS, convert(int, -1) as NUM_RESULT_SETS,
    convert(varchar(254), null) as REMARKS, convert(smallint, 2) as PROCEDURE_TYPE
from sys.all_objects o
where o.type in ('P', 'FN', 'TF', 'IF')
    and (@sp_name is null or (@fUsePattern = 1 and o.name like @sp_name escape '\') or o.name = @sp_name)
    and (@sp_owner is null or (@fUsePattern = 1 and schema_name(o.schema_id) like @sp_owner escape '\')
        or schema_name(o.schema_id) = @sp_owner)
order by 1, 2, 3
GO
create procedure sys.sp_sproc_columns @procedure_name nvarchar(390) = '%', @procedure_owner nvarchar(384) = null,
    @procedure_qualifier sysname = null, @column_name nvarchar(384) = null, @ODBCVer int = 2, @fUsePattern bit = 1
as
select convert(sysname, db_name()) as PROCEDURE_QUALIFIER, TABLE_OWNER as PROCEDURE_OWNER,
    convert(nvarchar(134), TABLE_NAME + case objectproperty(OBJECT_ID, 'IsProcedure') when 1 then ';1' else ';0' end) as PROCEDURE_NAME, COLUMN_NAME, COLUMN_TYPE,
    convert(smallint, case when @ODBCVer >= 3 and DATA_TYPE_2 = 11 then 93 else DATA_TYPE_2 end) as DATA_TYPE,
    TYPE_NAME, [PRECISION], LENGTH, SCALE, RADIX, NULLABLE, REMARKS, COLUMN_DEF, SQL_DATA_TYPE, SQL_DATETIME_SUB,
    CHAR_OCTET_LENGTH, ORDINAL_POSITION, IS_NULLABLE, SS_DATA_TYPE
from sys.spt_parameters_odbc_view
where ((@fUsePattern = 1 and TABLE_NAME like @procedure_name escape '\') or TABLE_NAME = @procedure_name)
    and (@procedure_owner is null or (@fUsePattern = 1 and TABLE_OWNER like @procedure_owner escape '\') or TABLE_OWNER = @procedure_owner)
    and (@column_name is null or (@fUsePattern = 1 and COLUMN_NAME like @column_name escape '\') or COLUMN_NAME = @column_name)
order by 1, 2, 3, 18
GO
create procedure sys.sp_sproc_columns_100 @procedure_name nvarchar(390) = '%', @procedure_owner nvarchar(384) = null,
    @procedure_qualifier sysname = null, @column_name nvarchar(384) = null, @ODBCVer int = 2, @fUsePattern bit = 1
as
select convert(sysname, db_name()) as PROCEDURE_QUALIFIER, TABLE_OWNER as PROCEDURE_OWNER,
    convert(nvarchar(134), TABLE_NAME + case objectproperty(OBJECT_ID, 'IsProcedure') when 1 then ';1' else ';0' end) as PROCEDURE_NAME, COLUMN_NAME, COLUMN_TYPE,
    convert(smallint, case when @ODBCVer >= 3 then DATA_TYPE else DATA_TYPE_2 end) as DATA_TYPE,
    TYPE_NAME, [PRECISION], LENGTH, SCALE, RADIX, NULLABLE, REMARKS, COLUMN_DEF, SQL_DATA_TYPE, SQL_DATETIME_SUB,
    CHAR_OCTET_LENGTH, ORDINAL_POSITION, IS_NULLABLE, convert(sysname, null) as SS_TYPE_CATALOG_NAME,
    convert(sysname, null) as SS_TYPE_SCHEMA_NAME, convert(sysname, null) as SS_UDT_CATALOG_NAME,
    convert(sysname, null) as SS_UDT_SCHEMA_NAME, convert(nvarchar(4000), null) as SS_UDT_ASSEMBLY_TYPE_NAME,
    convert(sysname, null) as SS_XML_SCHEMACOLLECTION_CATALOG_NAME,
    convert(sysname, null) as SS_XML_SCHEMACOLLECTION_SCHEMA_NAME, convert(sysname, null) as SS_XML_SCHEMACOLLECTION_NAME,
    SS_DATA_TYPE
from sys.spt_parameters_odbc_view
where ((@fUsePattern = 1 and TABLE_NAME like @procedure_name escape '\') or TABLE_NAME = @procedure_name)
    and (@procedure_owner is null or (@fUsePattern = 1 and TABLE_OWNER like @procedure_owner escape '\') or TABLE_OWNER = @procedure_owner)
    and (@column_name is null or (@fUsePattern = 1 and COLUMN_NAME like @column_name escape '\') or COLUMN_NAME = @column_name)
order by 1, 2, 3, 18
GO
create procedure sys.sp_procedure_params_100_managed @procedure_name sysname, @group_number int = 1,
    @procedure_schema sysname = null, @parameter_name sysname = null
as
select v.COLUMN_NAME as PARAMETER_NAME, convert(smallint, case v.COLUMN_TYPE when 5 then 4 else v.COLUMN_TYPE end) as PARAMETER_TYPE,
    convert(smallint, case when v.TYPE_NAME in ('decimal', 'numeric') then 5
        else case v.TYPE_NAME when 'bigint' then 0 when 'binary' then 1 when 'bit' then 2 when 'char' then 3 when 'datetime' then 4
        when 'float' then 6 when 'image' then 7 when 'int' then 8 when 'money' then 9 when 'nchar' then 10 when 'ntext' then 11
        when 'nvarchar' then 12 when 'real' then 13 when 'uniqueidentifier' then 14 when 'smalldatetime' then 15
        when 'smallint' then 16 when 'smallmoney' then 17 when 'text' then 18 when 'timestamp' then 19 when 'tinyint' then 20
        when 'varbinary' then 21 when 'varchar' then 22 when 'sql_variant' then 23 when 'xml' then 25 when 'date' then 31
        when 'time' then 32 when 'datetime2' then 33 when 'datetimeoffset' then 34 end end) as MANAGED_DATA_TYPE,
    case when v.CHAR_OCTET_LENGTH = 0 then -1 when v.CHAR_OCTET_LENGTH is not null then v.[PRECISION] end as CHARACTER_MAXIMUM_LENGTH,
    convert(smallint, case when v.CHAR_OCTET_LENGTH is null then v.[PRECISION] end) as NUMERIC_PRECISION,
    convert(smallint, v.SCALE) as NUMERIC_SCALE,
    convert(sysname, null) as TYPE_CATALOG_NAME, convert(sysname, null) as TYPE_SCHEMA_NAME, v.TYPE_NAME as TYPE_NAME,
    convert(sysname, null) as XML_CATALOGNAME, convert(sysname, null) as XML_SCHEMANAME,
    convert(sysname, null) as XML_SCHEMACOLLECTIONNAME, convert(smallint, v.SCALE) as SS_DATETIME_PRECISION
from sys.spt_parameters_odbc_view v
where v.TABLE_NAME = @procedure_name and (@procedure_schema is null or v.TABLE_OWNER = @procedure_schema)
    and (@parameter_name is null or v.COLUMN_NAME = @parameter_name)
order by v.ORDINAL_POSITION
GO
create procedure sys.sp_databases
as
select convert(sysname, d.name) as DATABASE_NAME, convert(int, sum(convert(bigint, f.size)) * 8) as DATABASE_SIZE,
    convert(varchar(254), null) as REMARKS
from sys.databases d join sys.master_files f on f.database_id = d.database_id
group by d.name order by 1
GO
create procedure sys.sp_datatype_info @data_type int = 0, @ODBCVer tinyint = 2
as
select TYPE_NAME, convert(smallint, case when @ODBCVer >= 3 then DATA_TYPE else DATA_TYPE_2 end) as DATA_TYPE, [PRECISION],
    LITERAL_PREFIX, LITERAL_SUFFIX, CREATE_PARAMS, NULLABLE, CASE_SENSITIVE, SEARCHABLE, UNSIGNED_ATTRIBUTE, MONEY,
    AUTO_INCREMENT, LOCAL_TYPE_NAME, MINIMUM_SCALE, MAXIMUM_SCALE, SQL_DATA_TYPE, SQL_DATETIME_SUB, NUM_PREC_RADIX,
    INTERVAL_PRECISION, USERTYPE
from sys.spt_datatype_info_view
where @data_type = 0 or @data_type = case when @ODBCVer >= 3 then DATA_TYPE else DATA_TYPE_2 end
order by 2, 12, 11, 3 desc, 20
GO
create procedure sys.sp_datatype_info_100 @data_type int = 0, @ODBCVer tinyint = 2
as
select TYPE_NAME, convert(smallint, case when @ODBCVer >= 3 then DATA_TYPE else case DATA_TYPE when 91 then 9 when 93 then 11 when -154 then -154 when -155 then -155 else DATA_TYPE_2 end end) as DATA_TYPE, [PRECISION],
    LITERAL_PREFIX, LITERAL_SUFFIX, CREATE_PARAMS, NULLABLE, CASE_SENSITIVE, SEARCHABLE, UNSIGNED_ATTRIBUTE, MONEY,
    AUTO_INCREMENT, LOCAL_TYPE_NAME, MINIMUM_SCALE, MAXIMUM_SCALE, SQL_DATA_TYPE, SQL_DATETIME_SUB, NUM_PREC_RADIX,
    INTERVAL_PRECISION, USERTYPE
from sys.spt_datatype_info_view
where @data_type = 0 or @data_type = case when @ODBCVer >= 3 then DATA_TYPE else case DATA_TYPE when 91 then 9 when 93 then 11 when -154 then -154 when -155 then -155 else DATA_TYPE_2 end end
order by 2, 12, 11, 3 desc, 20
GO
create procedure sys.sp_server_info @attribute_id int = null
as
select a.id as ATTRIBUTE_ID, convert(varchar(60), a.name) as ATTRIBUTE_NAME, convert(varchar(255), a.value) as ATTRIBUTE_VALUE
from (values
    (1, 'DBMS_NAME', 'Microsoft SQL Server'),
    (2, 'DBMS_VER', 'Microsoft SQL Server ' + convert(varchar(128), serverproperty('ProductVersion'))),
    (10, 'OWNER_TERM', 'owner'), (11, 'TABLE_TERM', 'table'), (12, 'MAX_OWNER_NAME_LENGTH', '128'),
    (13, 'TABLE_LENGTH', '128'), (14, 'MAX_QUAL_LENGTH', '128'), (15, 'COLUMN_LENGTH', '128'),
    (16, 'IDENTIFIER_CASE', 'MIXED'), (17, 'TX_ISOLATION', '2'), (18, 'COLLATION_SEQ', 'charset=iso_1 sort_order=nocase_iso charset_num=1 sort_order_num=52'),
    (19, 'SAVEPOINT_SUPPORT', 'Y'), (20, 'MULTI_RESULT_SETS', 'Y'), (22, 'ACCESSIBLE_TABLES', 'Y'),
    (100, 'USERID_LENGTH', '128'), (101, 'QUALIFIER_TERM', 'database'), (102, 'NAMED_TRANSACTIONS', 'Y'),
    (103, 'SPROC_AS_LANGUAGE', 'Y'), (104, 'ACCESSIBLE_SPROC', 'Y'), (105, 'MAX_INDEX_COLS', '16'),
    (106, 'RENAME_TABLE', 'Y'), (107, 'RENAME_COLUMN', 'Y'), (108, 'DROP_COLUMN', 'Y'), (109, 'INCREASE_COLUMN_LENGTH', 'Y'),
    (110, 'DDL_IN_TRANSACTION', 'Y'), (111, 'DESCENDING_INDEXES', 'Y'), (112, 'SP_RENAME', 'Y'),
    (113, 'REMOTE_SPROC', 'Y'), (500, 'SYS_SPROC_VERSION', '16.00.1000')) a (id, name, value)
where @attribute_id is null or a.id = @attribute_id
order by a.id
GO
create procedure sys.sp_who @loginame sysname = null
as
select s.session_id as spid, convert(smallint, 0) as ecid, convert(nchar(30), isnull(r.status, s.status)) as status,
    convert(nchar(128), s.login_name) as loginame, convert(nchar(128), s.host_name) as hostname,
    convert(char(5), isnull(r.blocking_session_id, 0)) as blk, db_name(s.database_id) as dbname,
    convert(nchar(26), isnull(r.command, 'AWAITING COMMAND')) as cmd, isnull(r.request_id, 0) as request_id
from sys.dm_exec_sessions s left join sys.dm_exec_requests r on r.session_id = s.session_id
where @loginame is null or s.login_name = @loginame or convert(nvarchar(10), s.session_id) = @loginame
    or (@loginame = 'active' and r.session_id is not null)
order by s.session_id
GO
create procedure sys.sp_who2 @loginame sysname = null
as
select convert(char(5), s.session_id) as SPID, convert(varchar(30), upper(isnull(r.status, s.status))) as Status,
    s.login_name as Login, isnull(s.host_name, '  .') as HostName,
    case when isnull(r.blocking_session_id, 0) = 0 then '  .' else convert(varchar(5), r.blocking_session_id) end as BlkBy,
    db_name(s.database_id) as DBName, isnull(r.command, 'AWAITING COMMAND') as Command, s.cpu_time as CPUTime,
    s.reads + s.writes as DiskIO, convert(varchar(5), s.last_request_start_time, 101) + ' ' + convert(varchar(8), s.last_request_start_time, 108) as LastBatch,
    s.program_name as ProgramName, convert(char(5), s.session_id) as SPID, isnull(r.request_id, 0) as REQUESTID
from sys.dm_exec_sessions s left join sys.dm_exec_requests r on r.session_id = s.session_id
where @loginame is null or s.login_name = @loginame or convert(nvarchar(10), s.session_id) = @loginame
    or (@loginame = 'active' and r.session_id is not null)
order by s.session_id
GO
create procedure sys.sp_lock @spid1 int = null, @spid2 int = null
as
select convert(smallint, l.request_session_id) as spid, convert(smallint, l.resource_database_id) as dbid,
    convert(int, case l.resource_type when 'OBJECT' then l.resource_associated_entity_id else 0 end) as ObjId,
    convert(smallint, 0) as IndId,
    convert(nvarchar(4), case l.resource_type when 'DATABASE' then 'DB' when 'OBJECT' then 'TAB' when 'APPLICATION' then 'APP'
        when 'METADATA' then 'MD' else l.resource_type end) as Type,
    convert(nvarchar(32), l.resource_description) as Resource, convert(nvarchar(8), l.request_mode) as Mode,
    convert(nvarchar(5), l.request_status) as Status
from sys.dm_tran_locks l
where @spid1 is null or l.request_session_id = @spid1 or l.request_session_id = @spid2
order by 1, 2, 3
GO
create procedure sys.sp_updatestats @resample char(8) = 'NO'
as
declare @each nvarchar(max) = (select string_agg(convert(nvarchar(max),
    concat(N'update statistics ', quotename(schema_name(schema_id)), N'.', quotename(name))), N'; ') from sys.tables)
exec (@each)
print 'Statistics for all tables have been updated.'
return 0
GO
create procedure sys.sp_spaceused @objname nvarchar(776) = null, @updateusage varchar(5) = 'false', @mode varchar(11) = 'ALL',
    @oneresultset bit = 0, @include_total_xtp_storage bit = 0
as
if @objname is null
begin
    declare @data bigint, @log bigint, @free bigint, @reserved bigint, @used bigint, @index bigint
    select @data = sum(case when type = 0 then convert(bigint, size) else 0 end) * 8,
        @log = sum(case when type = 1 then convert(bigint, size) else 0 end) * 8 from sys.database_files
    select @free = unallocated_extent_page_count * 8 from sys.dm_db_file_space_usage
    select @reserved = sum(reserved_kb), @used = sum(case when is_base = 1 then data_kb else 0 end),
        @index = sum(case when is_base = 0 then data_kb else 0 end) from sys.spt_index_space_view
    if @oneresultset = 0
        select db_name() as database_name, convert(varchar(18), convert(decimal(15, 2), (@data + @log) / 1024.0)) + ' MB' as database_size,
            convert(varchar(18), convert(decimal(15, 2), @free / 1024.0)) + ' MB' as [unallocated space]
    if @oneresultset = 0
        select convert(varchar(15), isnull(@reserved, 0)) + ' KB' as reserved, convert(varchar(15), isnull(@used, 0)) + ' KB' as data,
            convert(varchar(15), isnull(@index, 0)) + ' KB' as index_size, '0 KB' as unused
    else
        select db_name() as database_name, convert(varchar(18), convert(decimal(15, 2), (@data + @log) / 1024.0)) + ' MB' as database_size,
            convert(varchar(18), convert(decimal(15, 2), @free / 1024.0)) + ' MB' as [unallocated space],
            convert(varchar(15), isnull(@reserved, 0)) + ' KB' as reserved, convert(varchar(15), isnull(@used, 0)) + ' KB' as data,
            convert(varchar(15), isnull(@index, 0)) + ' KB' as index_size, '0 KB' as unused
    return 0
end
declare @id int
select @id = object_id(@objname)
if @id is null
begin
    declare @db sysname
    select @db = db_name()
    raiserror(15009, 16, 1, @objname, @db)
    return 1
end
select object_name(@id) as name, convert(char(20), max(rows)) as rows, convert(varchar(15), sum(reserved_kb)) + ' KB' as reserved,
    convert(varchar(15), sum(case when is_base = 1 then data_kb else 0 end)) + ' KB' as data,
    convert(varchar(15), sum(case when is_base = 0 then data_kb else 0 end)) + ' KB' as index_size, '0 KB' as unused
from sys.spt_index_space_view where object_id = @id
GO
create procedure sys.sp_helpindex @objname nvarchar(776)
as
declare @id int
select @id = object_id(@objname)
if @id is null
begin
    declare @db sysname
    select @db = db_name()
    raiserror(15009, 16, 1, @objname, @db)
    return 1
end
if not exists (select * from sys.indexes where object_id = @id and index_id > 0)
begin
    print 'The object ''' + @objname + ''' does not have any indexes, or you do not have permissions.'
    return 0
end
select convert(sysname, i.name) as index_name,
    convert(varchar(210), case i.type when 1 then 'clustered' else 'nonclustered' end
        + case i.is_unique when 1 then ', unique' else '' end
        + case i.is_primary_key when 1 then ', primary key' else '' end
        + case i.is_unique_constraint when 1 then ', unique key' else '' end
        + ' located on ' + d.name) as index_description,
    convert(nvarchar(2078), (select string_agg(c.name + case k.is_descending_key when 1 then '(-)' else '' end, ', ')
        within group (order by k.key_ordinal)
        from sys.index_columns k join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id
        where k.object_id = i.object_id and k.index_id = i.index_id and k.key_ordinal > 0)) as index_keys
from sys.indexes i join sys.data_spaces d on d.data_space_id = i.data_space_id
where i.object_id = @id and i.index_id > 0
order by 1
GO
create procedure sys.sp_helpconstraint @objname nvarchar(776), @nomsg varchar(5) = 'msg'
as
declare @id int
select @id = object_id(@objname)
if @id is null
begin
    declare @db sysname
    select @db = db_name()
    raiserror(15009, 16, 1, @objname, @db)
    return 1
end
if @nomsg <> 'nomsg' select @objname as [Object Name]
if exists (select * from sys.objects where parent_object_id = @id and type in ('PK', 'UQ', 'F', 'C', 'D'))
    select x.constraint_type, x.constraint_name, x.delete_action, x.update_action, x.status_enabled, x.status_for_replication, x.constraint_keys
    from (
        select case k.type when 'PK' then 'PRIMARY KEY' else 'UNIQUE' end
                + case i.type when 1 then ' (clustered)' else ' (non-clustered)' end as constraint_type,
            k.name as constraint_name, '(n/a)' as delete_action, '(n/a)' as update_action, '(n/a)' as status_enabled,
            '(n/a)' as status_for_replication,
            (select string_agg(c.name, ', ') within group (order by n.key_ordinal) from sys.index_columns n
                join sys.columns c on c.object_id = n.object_id and c.column_id = n.column_id
                where n.object_id = i.object_id and n.index_id = i.index_id and n.key_ordinal > 0) as constraint_keys
        from sys.key_constraints k join sys.indexes i on i.object_id = k.parent_object_id and i.index_id = k.unique_index_id
        where k.parent_object_id = @id
        union all
        select 'FOREIGN KEY', f.name, replace(f.delete_referential_action_desc, '_', ' '), replace(f.update_referential_action_desc, '_', ' '),
            case f.is_disabled when 1 then 'Disabled' else 'Enabled' end, 'Is_For_Replication',
            (select string_agg(c.name, ', ') within group (order by n.constraint_column_id) from sys.foreign_key_columns n
                join sys.columns c on c.object_id = n.parent_object_id and c.column_id = n.parent_column_id
                where n.constraint_object_id = f.object_id)
        from sys.foreign_keys f where f.parent_object_id = @id
        union all
        select case when c.parent_column_id = 0 then 'CHECK Table Level ' else 'CHECK on column ' + col_name(c.parent_object_id, c.parent_column_id) end, c.name, '(n/a)', '(n/a)', case c.is_disabled when 1 then 'Disabled' else 'Enabled' end,
            'Is_For_Replication', c.definition
        from sys.check_constraints c where c.parent_object_id = @id
        union all
        select 'DEFAULT on column ' + col_name(d.parent_object_id, d.parent_column_id), d.name, '(n/a)', '(n/a)', '(n/a)', '(n/a)', d.definition
        from sys.default_constraints d where d.parent_object_id = @id) x
    order by 1, 2
else
    print 'No constraints are defined on object ''' + @objname + ''', or you do not have permissions.'
if exists (select * from sys.foreign_keys where referenced_object_id = @id)
    select db_name() + '.' + schema_name(f.schema_id) + '.' + object_name(f.parent_object_id) + ': ' + f.name as [Table is referenced by foreign key]
    from sys.foreign_keys f where f.referenced_object_id = @id order by 1
else
    print 'No foreign keys reference table ''' + @objname + ''', or you do not have permissions on referencing tables.'
return 0
GO
create procedure sys.sp_help @objname nvarchar(776) = null
as
if @objname is null
begin
    select o.name as Name, convert(sysname, user_name(isnull(o.principal_id, (select s.principal_id from sys.schemas s where s.schema_id = o.schema_id)))) as Owner,
        lower(replace(o.type_desc, '_', ' ')) as Object_type
    from sys.objects o
    order by 2, 3 desc, 1
    return 0
end
declare @id int
select @id = object_id(@objname)
if @id is null
begin
    declare @db sysname
    select @db = db_name()
    raiserror(15009, 16, 1, @objname, @db)
    return 1
end
select o.name as Name, convert(sysname, user_name(isnull(o.principal_id, (select s.principal_id from sys.schemas s where s.schema_id = o.schema_id)))) as Owner,
    lower(replace(o.type_desc, '_', ' ')) as Type, o.create_date as Created_datetime
from sys.all_objects o where o.object_id = @id
if exists (select * from sys.columns where object_id = @id)
begin
    select c.name as Column_name, type_name(c.user_type_id) as Type, case c.is_computed when 1 then 'yes' else 'no' end as Computed,
        convert(int, c.max_length) as Length,
        case when type_name(c.system_type_id) in ('tinyint', 'smallint', 'int', 'bigint', 'decimal', 'numeric', 'money', 'smallmoney', 'float', 'real')
            then convert(char(5), c.precision) else '     ' end as Prec,
        case when type_name(c.system_type_id) in ('tinyint', 'smallint', 'int', 'bigint', 'decimal', 'numeric', 'money', 'smallmoney')
            then convert(char(5), c.scale) else '     ' end as Scale,
        case c.is_nullable when 1 then 'yes' else 'no' end as Nullable, '(n/a)' as TrimTrailingBlanks,
        '(n/a)' as FixedLenNullInSource, c.collation_name as Collation
    from sys.columns c where c.object_id = @id order by c.column_id
    if exists (select * from sys.identity_columns where object_id = @id)
        select i.name as [Identity], i.seed_value as Seed, i.increment_value as Increment, 0 as [Not For Replication]
        from sys.identity_columns i where i.object_id = @id
    else
        select 'No identity column defined.' as [Identity], null as Seed, null as Increment, null as [Not For Replication]
    select 'No rowguidcol column defined.' as [RowGuidCol]
    if objectproperty(@id, 'IsUserTable') = 1
    begin
        select d.name as Data_located_on_filegroup
        from sys.indexes i join sys.data_spaces d on d.data_space_id = i.data_space_id
        where i.object_id = @id and i.index_id = (select min(index_id) from sys.indexes where object_id = @id)
        exec sys.sp_helpindex @objname
        exec sys.sp_helpconstraint @objname, 'nomsg'
    end
    else if objectproperty(@id, 'IsIndexed') = 1
        exec sys.sp_helpindex @objname
end
if exists (select * from sys.parameters where object_id = @id)
    select p.name as Parameter_name, type_name(p.user_type_id) as Type, p.max_length as Length, p.precision as Prec, p.scale as Scale,
        p.parameter_id as Param_order, convert(sysname, null) as Collation
    from sys.parameters p where p.object_id = @id order by p.parameter_id
return 0
GO
create procedure sys.sp_helpdb @dbname sysname = null
as
if @dbname is not null and db_id(@dbname) is null
begin
    raiserror(15010, 16, 1, @dbname)
    return 1
end
select d.name as name, convert(nvarchar(13), str(convert(decimal(15, 2), sum(convert(bigint, f.size)) * 8 / 1024.0), 10, 2) + ' MB') as db_size,
    suser_sname(d.owner_sid) as owner, convert(smallint, d.database_id) as dbid, convert(nvarchar(11), d.create_date, 100) as created,
    convert(nvarchar(600), 'Status=' + d.state_desc + ', Updateability=' + case d.is_read_only when 1 then 'READ_ONLY' else 'READ_WRITE' end
        + ', UserAccess=' + d.user_access_desc + ', Recovery=' + d.recovery_model_desc + ', Version=957, Collation=' + d.collation_name) as status,
    d.compatibility_level as compatibility_level
from sys.databases d join sys.master_files f on f.database_id = d.database_id
where @dbname is null or d.name = @dbname
group by d.name, d.owner_sid, d.database_id, d.create_date, d.state_desc, d.is_read_only, d.user_access_desc, d.recovery_model_desc, d.collation_name, d.compatibility_level
order by d.name
if @dbname is not null
    select f.name as name, convert(smallint, f.file_id) as fileid, f.physical_name as filename,
        convert(sysname, case f.type when 0 then 'PRIMARY' end) as filegroup, convert(nvarchar(18), convert(bigint, f.size) * 8) + ' KB' as size,
        convert(nvarchar(18), 'Unlimited') as maxsize, convert(nvarchar(18), convert(bigint, f.growth) * 8) + ' KB' as growth,
        convert(varchar(9), case f.type when 1 then 'log only' else 'data only' end) as usage
    from sys.master_files f where f.database_id = db_id(@dbname) order by f.file_id
GO
create procedure sys.sp_helpfile @filename sysname = null
as
select f.name as name, convert(smallint, f.file_id) as fileid, f.physical_name as filename,
    convert(sysname, case f.type when 0 then 'PRIMARY' end) as filegroup, convert(nvarchar(18), convert(bigint, f.size) * 8) + ' KB' as size,
    convert(nvarchar(18), 'Unlimited') as maxsize, convert(nvarchar(18), convert(bigint, f.growth) * 8) + ' KB' as growth,
    convert(varchar(9), case f.type when 1 then 'log only' else 'data only' end) as usage
from sys.database_files f where @filename is null or f.name = @filename order by f.file_id
GO
create procedure sys.sp_helptrigger @tabname nvarchar(776), @triggertype char(6) = null
as
select t.name as trigger_name, convert(sysname, user_name((select s.principal_id from sys.schemas s where s.schema_id = schema_id(object_schema_name(t.parent_id))))) as trigger_owner,
    max(case when e.type_desc = 'UPDATE' then 1 else 0 end) as isupdate, max(case when e.type_desc = 'DELETE' then 1 else 0 end) as isdelete,
    max(case when e.type_desc = 'INSERT' then 1 else 0 end) as isinsert, case t.is_instead_of_trigger when 1 then 0 else 1 end as isafter,
    convert(int, t.is_instead_of_trigger) as isinsteadof, convert(sysname, object_schema_name(t.parent_id)) as trigger_schema
from sys.triggers t join sys.trigger_events e on e.object_id = t.object_id
where t.parent_id = object_id(@tabname)
group by t.name, t.is_instead_of_trigger, t.parent_id order by 1
GO
create procedure sys.sp_helprolemember @rolename sysname = null
as
select r.name as DbRole, m.name as MemberName, m.sid as MemberSID
from sys.database_role_members rm
    join sys.database_principals r on r.principal_id = rm.role_principal_id
    join sys.database_principals m on m.principal_id = rm.member_principal_id
where @rolename is null or r.name = @rolename order by 1, 2
GO
create procedure sys.sp_helpsrvrolemember @srvrolename sysname = null
as
select r.name as ServerRole, m.name as MemberName, m.sid as MemberSID
from sys.server_role_members rm
    join sys.server_principals r on r.principal_id = rm.role_principal_id
    join sys.server_principals m on m.principal_id = rm.member_principal_id
where @srvrolename is null or r.name = @srvrolename order by 1, 2
GO
create procedure sys.sp_MSdropconstraints @table sysname, @owner sysname = null
as
declare @id int = object_id(quotename(isnull(@owner, schema_name())) + '.' + quotename(@table))
if @id is null
begin
    raiserror(15001, 11, 1, @table)
    return 1
end
declare @text nvarchar(max)
-- Foreign keys first, those of others too: what they refer to could not go.
select @text = string_agg(cast('alter table ' + quotename(schema_name(schema_id)) + '.' + quotename(object_name(parent_object_id))
    + ' drop constraint ' + quotename(name) as nvarchar(max)), '; ')
from sys.foreign_keys where parent_object_id = @id or referenced_object_id = @id
if @text is not null exec (@text)
select @text = string_agg(cast('alter table ' + quotename(schema_name(schema_id)) + '.' + quotename(object_name(parent_object_id))
    + ' drop constraint ' + quotename(name) as nvarchar(max)), '; ')
from sys.objects where parent_object_id = @id and type in ('C', 'UQ', 'PK')
if @text is not null exec (@text)
return 0
GO
create procedure sys.sp_MSforeachtable @command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = null,
    @command3 nvarchar(2000) = null, @whereand nvarchar(2000) = null, @precommand nvarchar(2000) = null, @postcommand nvarchar(2000) = null
as
declare @name nvarchar(600), @text nvarchar(4000)
if @precommand is not null exec (@precommand)
declare each_table cursor local static for
    select quotename(schema_name(t.schema_id)) + '.' + quotename(t.name) from sys.tables t order by 1
open each_table
fetch next from each_table into @name
while @@fetch_status = 0
begin
    set @text = replace(@command1, @replacechar, @name)
    exec (@text)
    set @text = replace(@command2, @replacechar, @name)
    if @text is not null exec (@text)
    set @text = replace(@command3, @replacechar, @name)
    if @text is not null exec (@text)
    fetch next from each_table into @name
end
close each_table
deallocate each_table
if @postcommand is not null exec (@postcommand)
return 0
GO
create procedure sys.sp_MSforeachdb @command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = null,
    @command3 nvarchar(2000) = null, @precommand nvarchar(2000) = null, @postcommand nvarchar(2000) = null
as
declare @name nvarchar(600), @text nvarchar(4000)
if @precommand is not null exec (@precommand)
declare each_database cursor local static for select d.name from sys.databases d where d.state = 0 order by d.database_id
open each_database
fetch next from each_database into @name
while @@fetch_status = 0
begin
    set @text = replace(@command1, @replacechar, @name)
    exec (@text)
    set @text = replace(@command2, @replacechar, @name)
    if @text is not null exec (@text)
    set @text = replace(@command3, @replacechar, @name)
    if @text is not null exec (@text)
    fetch next from each_database into @name
end
close each_database
deallocate each_database
if @postcommand is not null exec (@postcommand)
return 0
GO
create procedure sys.sp_tablecollations_100 @object nvarchar(4000)
as
select c.column_id as colid, c.name as name,
    case when c.collation_name is null then null
        when c.collation_name = 'SQL_Latin1_General_CP1_CI_AS' then convert(binary(5), 0x0904D00034)
        else convert(binary(5), 0x0904D00000) end as tds_collation_100,
    c.collation_name as collation_100
from sys.columns c where c.object_id = object_id(@object) order by c.column_id
GO
create procedure sys.sp_depends @objname nvarchar(776)
as
set nocount on
declare @id int = object_id(@objname), @db sysname = db_name(), @any bit = 0
if @id is null
begin
    raiserror(15009, 16, 1, @objname, @db)
    return 1
end
if exists (select 1 from sys.sql_expression_dependencies where referencing_id = @id)
begin
    print 'In the current database, the specified object references the following:'
    select distinct convert(nvarchar(776), isnull(schema_name(o.schema_id), d.referenced_schema_name) + '.' + d.referenced_entity_name) as name,
        convert(nvarchar(60), isnull(lower(replace(o.type_desc, '_', ' ')), 'unknown')) as type,
        convert(varchar(7), null) as updated, convert(varchar(8), null) as selected, convert(sysname, null) as [column]
    from sys.sql_expression_dependencies d left join sys.objects o on o.object_id = d.referenced_id
    where d.referencing_id = @id order by 1
    set @any = 1
end
if exists (select 1 from sys.sql_expression_dependencies where referenced_id = @id)
begin
    print 'In the current database, the specified object is referenced by the following:'
    select distinct convert(nvarchar(776), schema_name(o.schema_id) + '.' + o.name) as name,
        convert(nvarchar(60), lower(replace(o.type_desc, '_', ' '))) as type
    from sys.sql_expression_dependencies d join sys.objects o on o.object_id = d.referencing_id
    where d.referenced_id = @id order by 1
    set @any = 1
end
if @any = 0 print 'Object does not reference any object, and no objects reference it.'
return 0
GO
create procedure sys.sp_helplogins @LoginNamePattern sysname = null
as
set nocount on
if @LoginNamePattern is not null and not exists (select 1 from sys.server_principals where name = @LoginNamePattern and type in ('S', 'U', 'G'))
begin
    raiserror(15007, 16, 1, @LoginNamePattern)
    return 1
end
select name as LoginName, sid as SID, default_database_name as DefDBName, default_language_name as DefLangName,
    convert(char(5), 'yes') as AUser, convert(char(7), 'no') as ARemote
from sys.server_principals where type in ('S', 'U', 'G') and (@LoginNamePattern is null or name = @LoginNamePattern) order by name
create table #users (LoginName sysname, DBName sysname, UserName sysname, UserOrAlias char(8))
declare @name sysname, @text nvarchar(max)
declare each_database cursor local static for select name from sys.databases where state = 0 order by database_id
open each_database
fetch next from each_database into @name
while @@fetch_status = 0
begin
    set @text = N'insert #users select l.name, @name, u.name, ''User'' from ' + quotename(@name)
        + N'.sys.database_principals u join sys.server_principals l on l.sid = u.sid where u.type in (''S'', ''U'', ''G'') and l.type in (''S'', ''U'', ''G'')'
    exec sp_executesql @text, N'@name sysname', @name
    fetch next from each_database into @name
end
close each_database
deallocate each_database
select LoginName, DBName, UserName, UserOrAlias from #users
where @LoginNamePattern is null or LoginName = @LoginNamePattern order by 1, 2, 3
return 0
GO
create procedure sys.sp_helpsrvrole @srvrolename sysname = null
as
set nocount on
if @srvrolename is not null and not exists (select 1 from sys.server_principals where name = @srvrolename and type = 'R')
begin
    raiserror('''%s'' is not a known fixed role.', 16, 1, @srvrolename)
    return 1
end
select r.name as ServerRole, convert(sysname, case r.name when 'sysadmin' then 'System Administrators'
        when 'securityadmin' then 'Security Administrators' when 'serveradmin' then 'Server Administrators'
        when 'setupadmin' then 'Setup Administrators' when 'processadmin' then 'Process Administrators'
        when 'diskadmin' then 'Disk Administrators' when 'dbcreator' then 'Database Creators'
        when 'bulkadmin' then 'Bulk Insert Administrators' end) as Description
from sys.server_principals r where r.type = 'R' and r.name <> 'public' and (@srvrolename is null or r.name = @srvrolename)
order by r.principal_id
return 0
GO
create procedure sys.sp_refreshview @viewname nvarchar(776)
as
set nocount on
declare @id int = object_id(@viewname), @db sysname = db_name(), @text nvarchar(max)
if @id is null or not exists (select 1 from sys.views where object_id = @id)
begin
    raiserror(15165, 16, 1, @viewname)
    return 1
end
set @text = N'declare @none int; select @none = count(*) from (select top (0) * from '
    + quotename(object_schema_name(@id)) + N'.' + quotename(object_name(@id)) + N') v'
exec (@text)
return @@error
GO
create procedure sys.sp_refreshsqlmodule @name nvarchar(776), @namespace nvarchar(20) = null
as
set nocount on
declare @id int = object_id(@name)
if @id is null or not exists (select 1 from sys.sql_modules where object_id = @id)
begin
    raiserror(15165, 16, 1, @name)
    return 1
end
if exists (select 1 from sys.views where object_id = @id) exec sys.sp_refreshview @name
return 0
GO
create procedure sys.sp_addtype @typename sysname, @phystype sysname, @nulltype varchar(8) = null, @owner sysname = null
as
set nocount on
if @nulltype is not null and @nulltype not in ('null', 'not null', 'nonull')
begin
    raiserror('Usage: sp_addtype name, ''data type'' [, ''NULL'' | ''NOT NULL'']', 16, 1)
    return 1
end
declare @text nvarchar(max) = N'create type ' + case when @owner is null then N'' else quotename(@owner) + N'.' end
    + quotename(@typename) + N' from ' + @phystype
    + case when @nulltype in ('not null', 'nonull') then N' not null' else N' null' end
exec (@text)
return @@error
GO
create procedure sys.sp_droptype @typename sysname
as
set nocount on
declare @schema sysname
select @schema = schema_name(schema_id) from sys.types where name = @typename and is_user_defined = 1 and is_table_type = 0
if @schema is null
begin
    raiserror('The type ''%s'' does not exist, or you do not have permission.', 16, 1, @typename)
    return 1
end
declare @text nvarchar(max) = N'drop type ' + quotename(@schema) + N'.' + quotename(@typename)
begin try
    exec (@text)
end try
begin catch
    if error_number() <> 3732 throw
    raiserror(15180, 16, 1)
    return 1
end catch
return 0
GO
create procedure sys.sp_helpstats @objname nvarchar(776), @results nvarchar(5) = 'STATS'
as
set nocount on
declare @id int = object_id(@objname), @db sysname = db_name()
if @id is null
begin
    raiserror(15009, 16, 1, @objname, @db)
    return 1
end
if not exists (select 1 from sys.stats where object_id = @id and (user_created = 1 or @results = 'ALL'))
begin
    print 'This object does not have any statistics' + case when @results = 'ALL' then ' or indexes.' else '.' end
    return 0
end
select s.name as statistics_name, convert(nvarchar(2078), string_agg(convert(nvarchar(max), col_name(c.object_id, c.column_id)), N', ')
    within group (order by c.stats_column_id)) as statistics_keys
from sys.stats s join sys.stats_columns c on c.object_id = s.object_id and c.stats_id = s.stats_id
where s.object_id = @id and (s.user_created = 1 or @results = 'ALL')
group by s.name, s.stats_id order by s.stats_id
return 0
GO
create procedure sys.sp_helpfilegroup @filegroupname sysname = null
as
set nocount on
if @filegroupname is not null and @filegroupname <> 'PRIMARY'
begin
    raiserror('File group ''%s'' does not exist.', 16, 1, @filegroupname)
    return 1
end
select convert(sysname, 'PRIMARY') as groupname, convert(smallint, 1) as groupid, count(*) as filecount
from sys.database_files where type = 0
return 0
GO
create procedure sys.sp_helpserver @server sysname = null, @optname varchar(35) = null, @show_topology varchar(1) = null
as
set nocount on
if @server is not null and not exists (select 1 from sys.servers where name = @server)
begin
    raiserror(15015, 16, 1, @server)
    return 1
end
select s.name, convert(sysname, case s.is_linked when 0 then s.name else isnull(s.data_source, s.name) end) as network_name,
    convert(varchar(200), isnull(stuff(
        case when s.is_publisher = 1 then ',pub' else '' end + case when s.is_subscriber = 1 then ',sub' else '' end
        + case when s.is_distributor = 1 then ',dist' else '' end + case when s.is_system = 1 then ',system' else '' end
        + case when s.is_remote_login_enabled = 1 then ',rpc' else '' end + case when s.is_rpc_out_enabled = 1 then ',rpc out' else '' end
        + case when s.is_data_access_enabled = 1 then ',data access' else '' end
        + case when s.is_collation_compatible = 1 then ',collation compatible' else '' end
        + case when s.uses_remote_collation = 1 then ',use remote collation' else '' end
        + case when s.lazy_schema_validation = 1 then ',lazy schema validation' else '' end, 1, 1, ''), '')) as status,
    convert(char(4), s.server_id) as id, s.collation_name, s.connect_timeout, s.query_timeout
from sys.servers s
where (@server is null or s.name = @server)
    and (@optname is null or case @optname when 'pub' then s.is_publisher when 'sub' then s.is_subscriber when 'dist' then s.is_distributor
        when 'system' then s.is_system when 'rpc' then s.is_remote_login_enabled when 'rpc out' then s.is_rpc_out_enabled
        when 'data access' then s.is_data_access_enabled when 'collation compatible' then s.is_collation_compatible
        when 'use remote collation' then s.uses_remote_collation when 'lazy schema validation' then s.lazy_schema_validation else 0 end = 1)
order by s.name
return 0
GO
create procedure sys.sp_linkedservers
as
select name as SRV_NAME, convert(nvarchar(128), provider) as SRV_PROVIDERNAME, convert(nvarchar(128), product) as SRV_PRODUCT,
    convert(nvarchar(4000), data_source) as SRV_DATASOURCE, convert(nvarchar(4000), provider_string) as SRV_PROVIDERSTRING,
    convert(nvarchar(4000), location) as SRV_LOCATION, catalog as SRV_CAT
from sys.servers order by name
return 0
GO
create procedure sys.sp_helplinkedsrvlogin @rmtsrvname sysname = null, @locallogin sysname = null
as
set nocount on
if @rmtsrvname is not null and not exists (select 1 from sys.servers where name = @rmtsrvname)
begin
    raiserror(15015, 16, 1, @rmtsrvname)
    return 1
end
select s.name as [Linked Server], p.name as [Local Login], convert(smallint, l.uses_self_credential) as [Is Self Mapping],
    l.remote_name as [Remote Login]
from sys.linked_logins l join sys.servers s on s.server_id = l.server_id
    left join sys.server_principals p on p.principal_id = l.local_principal_id and l.local_principal_id <> 0
where (@rmtsrvname is null or s.name = @rmtsrvname) and (@locallogin is null or p.name = @locallogin)
order by s.name, p.name
return 0
GO
create procedure sys.sp_addlogin @loginame sysname, @passwd sysname = null, @defdb sysname = 'master', @deflanguage sysname = null,
    @sid varbinary(16) = null, @encryptopt varchar(20) = null
as
set nocount on
if @encryptopt is not null
begin
    raiserror('sp_addlogin takes no @encryptopt here: use CREATE LOGIN.', 16, 1)
    return 1
end
declare @text nvarchar(max) = N'create login ' + quotename(@loginame) + N' with password = N'
    + quotename(isnull(@passwd, N''), '''') + N', default_database = ' + quotename(@defdb) + N', check_policy = off'
    + isnull(N', default_language = ' + quotename(@deflanguage), N'') + isnull(N', sid = ' + convert(nvarchar(40), @sid, 1), N'')
exec (@text)
return @@error
GO
create procedure sys.sp_droplogin @loginame sysname
as
set nocount on
declare @text nvarchar(max) = N'drop login ' + quotename(@loginame)
exec (@text)
return @@error
GO
create procedure sys.sp_password @old sysname = null, @new sysname, @loginame sysname = null
as
set nocount on
set @loginame = isnull(@loginame, suser_sname())
declare @text nvarchar(max) = N'alter login ' + quotename(@loginame) + N' with password = N' + quotename(@new, '''')
    + case when @old is null then N'' else N' old_password = N' + quotename(@old, '''') end
exec (@text)
return @@error
GO
create procedure sys.sp_defaultdb @loginame sysname, @defdb sysname
as
set nocount on
declare @text nvarchar(max) = N'alter login ' + quotename(@loginame) + N' with default_database = ' + quotename(@defdb)
exec (@text)
return @@error
GO
create procedure sys.sp_defaultlanguage @loginame sysname, @language sysname = null
as
set nocount on
set @language = isnull(@language, (select l.name from sys.syslanguages l join sys.configurations c on c.value_in_use = l.langid
    where c.configuration_id = 124))
declare @text nvarchar(max) = N'alter login ' + quotename(@loginame) + N' with default_language = ' + quotename(@language)
exec (@text)
return @@error
GO
create procedure sys.sp_helplanguage @language sysname = null
as
set nocount on
if @language is not null and not exists (select 1 from sys.syslanguages where @language in (name, alias))
begin
    raiserror(15033, 16, 1, @language)
    return 1
end
select langid, dateformat, datefirst, upgrade, name, alias, months, shortmonths, days, lcid, msglangid
from sys.syslanguages where @language is null or @language in (name, alias) order by langid
return 0
GO
create procedure sys.sp_grantdbaccess @loginame sysname, @name_in_db sysname = null
as
set nocount on
set @name_in_db = isnull(@name_in_db, @loginame)
declare @text nvarchar(max) = N'create user ' + quotename(@name_in_db) + N' for login ' + quotename(@loginame)
exec (@text)
return @@error
GO
create procedure sys.sp_adduser @loginame sysname, @name_in_db sysname = null, @grpname sysname = null
as
set nocount on
set @name_in_db = isnull(@name_in_db, @loginame)
declare @text nvarchar(max) = N'create user ' + quotename(@name_in_db) + N' for login ' + quotename(@loginame)
    + case when @grpname is null then N'' else N'; alter role ' + quotename(@grpname) + N' add member ' + quotename(@name_in_db) end
exec (@text)
return @@error
GO
create procedure sys.sp_revokedbaccess @name_in_db sysname
as
set nocount on
declare @text nvarchar(max) = N'drop user ' + quotename(@name_in_db)
exec (@text)
return @@error
GO
create procedure sys.sp_dropuser @name_in_db sysname
as
set nocount on
declare @text nvarchar(max) = N'drop user ' + quotename(@name_in_db)
exec (@text)
return @@error
GO
create procedure sys.sp_addrole @rolename sysname, @ownername sysname = null
as
set nocount on
declare @text nvarchar(max) = N'create role ' + quotename(@rolename)
    + case when @ownername is null then N'' else N' authorization ' + quotename(@ownername) end
exec (@text)
return @@error
GO
create procedure sys.sp_droprole @rolename sysname
as
set nocount on
declare @text nvarchar(max) = N'drop role ' + quotename(@rolename)
exec (@text)
return @@error
GO
create procedure sys.sp_dbcmptlevel @dbname sysname = null, @new_cmptlevel tinyint = null
as
set nocount on
set @dbname = isnull(@dbname, db_name())
if @new_cmptlevel is null
begin
    declare @level int = (select compatibility_level from sys.databases where name = @dbname)
    raiserror('The current compatibility level is %d.', 10, 1, @level)
    return 0
end
declare @text nvarchar(max) = N'alter database ' + quotename(@dbname) + N' set compatibility_level = '
    + convert(nvarchar(10), @new_cmptlevel)
exec (@text)
return @@error
GO
create procedure sys.sp_validatelogins
as
-- Accounts that their domain no longer knows: it is not asked.
set nocount on
select convert(varbinary(85), null) as SID, convert(sysname, null) as [NT Login] where 1 = 0
return 0
GO
