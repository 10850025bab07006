-- Extended properties are kept, shown, changed, and go with what they belong to.
CREATE TABLE t (id int CONSTRAINT pk_t PRIMARY KEY, name varchar(10));
CREATE SEQUENCE s AS int START WITH 5;
GO
EXEC sp_addextendedproperty 'MS_Description', N'A table', 'SCHEMA', 'dbo', 'TABLE', 't';
EXEC sp_addextendedproperty @name = N'MS_Description', @value = N'Its name', @level0type = N'SCHEMA', @level0name = N'dbo', @level1type = N'TABLE', @level1name = N't', @level2type = N'COLUMN', @level2name = N'name';
EXEC sp_addextendedproperty 'Version', 3;
EXEC sp_addextendedproperty 'Note', 'key', 'schema', 'dbo', 'table', 't', 'index', 'pk_t';
EXEC sp_addextendedproperty 'Note', 'next', 'schema', 'dbo', 'sequence', 's';
GO
SELECT class_desc, OBJECT_NAME(major_id) AS object, minor_id, name, value, SQL_VARIANT_PROPERTY(value, 'BaseType') AS type FROM sys.extended_properties ORDER BY class, major_id, minor_id;
GO
SELECT * FROM sys.fn_listextendedproperty(NULL, 'schema', 'dbo', 'table', 't', 'column', NULL);
SELECT * FROM sys.fn_listextendedproperty('MS_Description', 'schema', 'dbo', 'table', NULL, NULL, NULL);
SELECT * FROM fn_listextendedproperty(NULL, NULL, NULL, NULL, NULL, NULL, NULL);
GO
EXEC sp_addextendedproperty 'MS_Description', N'again', 'SCHEMA', 'dbo', 'TABLE', 't';
GO
EXEC sp_addextendedproperty 'MS_Description', N'?', 'SCHEMA', 'dbo', 'TABLE', 'nothing';
GO
EXEC sp_updateextendedproperty 'MS_Description', N'A better table', 'SCHEMA', 'dbo', 'TABLE', 't';
EXEC sp_updateextendedproperty 'Nothing', N'?', 'SCHEMA', 'dbo', 'TABLE', 't';
GO
BEGIN TRANSACTION;
EXEC sp_dropextendedproperty 'Version';
ROLLBACK;
SELECT value FROM sys.extended_properties WHERE name = 'Version' OR minor_id = 0 AND name = 'MS_Description' ORDER BY name;
EXEC sp_dropextendedproperty 'Version';
ALTER TABLE t DROP COLUMN name;
SELECT class_desc, name, value FROM sys.extended_properties ORDER BY class;
DROP TABLE t2;
GO
ALTER TABLE t ADD other int;
DROP TABLE t;
SELECT class_desc, name, value FROM sys.extended_properties ORDER BY class;
GO
SELECT SEQUENCE_NAME, DATA_TYPE, START_VALUE, INCREMENT, CYCLE_OPTION FROM INFORMATION_SCHEMA.SEQUENCES;
GO
CREATE TABLE owner (id int CONSTRAINT pk_owner PRIMARY KEY);
CREATE TABLE owned (id int CONSTRAINT fk_owned REFERENCES owner, n int CONSTRAINT ck_owned CHECK (n > 0));
SELECT TABLE_NAME, CONSTRAINT_NAME FROM INFORMATION_SCHEMA.CONSTRAINT_TABLE_USAGE ORDER BY CONSTRAINT_NAME;
