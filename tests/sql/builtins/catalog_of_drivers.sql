exec sp_columns_100 null, N'dbo'
GO
create table shown (id int, name char(4) collate Latin1_General_100_CI_AI_SC_UTF8)
create sequence numbers as tinyint
GO
exec sp_columns_100 null, N'dbo', @ODBCVer = 3
exec sys.sp_tableswc N'shown', N'dbo', N'm%', null, 1
exec sys.sp_tableswc N'shown', N'dbo', N'mast_r', N'''TABLE''', 1
select SEQUENCE_NAME, DECLARED_DATA_TYPE from INFORMATION_SCHEMA.SEQUENCES
GO
-- @NameScope: 0 and 2 (sparse columns, too: what JDBC asks for) are tables, 1 table types, 3 the columns of a column set
create type typed as table (of_type int)
GO
exec sp_columns_100 N'shown', N'dbo', null, N'id', 0
exec sp_columns_100 N'typed', N'dbo', null, null, 1
exec sp_columns_100 N'shown', N'dbo', null, N'id', 2
exec sp_columns_100 N'shown', N'dbo', null, N'id', 3
GO
declare @long varchar(max) = replicate(cast('a' as varchar(max)), 9000)
print @long
GO
create database versions
alter database versions set read_committed_snapshot on
GO
use versions
GO
dbcc useroptions
GO
select convert(xml, nchar(0xFEFF) + N'<a/>') as x
GO
exec sp_datatype_info_100 4, 3
GO
exec sp_datatype_info_100 -9, 3
GO
