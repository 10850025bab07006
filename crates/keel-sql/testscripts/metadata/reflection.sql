-- What ORMs and migration tools read back of what they made.
CREATE TABLE parent (
    id numeric(18, 0) IDENTITY(2, 3) NOT NULL CONSTRAINT pk_parent PRIMARY KEY,
    code varchar(10) NOT NULL CONSTRAINT uq_code UNIQUE CONSTRAINT df_code DEFAULT 'x',
    price decimal(10, 2) CONSTRAINT df_price DEFAULT -1.5,
    made datetime CONSTRAINT df_made DEFAULT GETDATE(),
    twice AS price*2 PERSISTED,
    CONSTRAINT ck_price CHECK (price > -2 and code in ('x', 'y'))
);
CREATE TABLE child (
    id bigint IDENTITY NOT NULL CONSTRAINT pk_child PRIMARY KEY NONCLUSTERED,
    parent_id numeric(18, 0) NOT NULL CONSTRAINT fk_parent REFERENCES parent ON DELETE CASCADE
);
CREATE INDEX ix_price ON parent (price) WHERE price >= 5 AND code = 'x';
GO
CREATE VIEW both_ids AS SELECT p.id, c.id AS child_id, p.code FROM parent p JOIN child c ON c.parent_id = p.id;
GO
-- Expressions come back as the catalog keeps them, whatever was written.
SELECT name, definition FROM sys.default_constraints ORDER BY name;
SELECT name, definition FROM sys.check_constraints;
SELECT name, definition, is_persisted FROM sys.computed_columns;
SELECT name, filter_definition FROM sys.indexes WHERE has_filter = 1;
GO
-- A view's column of an identity is one, without seed.
INSERT parent (price) VALUES (6);
SELECT OBJECT_NAME(object_id) AS owner, name, seed_value, increment_value, last_value, is_nullable
FROM sys.identity_columns ORDER BY owner, column_id;
GO
SELECT name, OBJECTPROPERTY(object_id, 'CnstIsClustKey') AS is_clustered, OBJECTPROPERTY(object_id, 'CnstIsNonclustKey') AS is_nonclustered,
    OBJECTPROPERTY(object_id, 'CnstIsDeleteCascade') AS delete_cascade, OBJECTPROPERTY(object_id, 'CnstIsColumn') AS of_column
FROM sys.objects WHERE parent_object_id <> 0 ORDER BY name;
GO
-- A temporary table is found in tempdb by its id, by its maker.
CREATE TABLE #mine (a int PRIMARY KEY, b varchar(5));
GO
SELECT LEN(name) AS length, LEFT(name, 8) AS name, type FROM tempdb.sys.objects WHERE object_id = OBJECT_ID('tempdb..[#mine]', 'U');
SELECT LEFT(t.name, 8) AS name, c.name, c.max_length FROM tempdb.sys.tables t JOIN tempdb.sys.columns c ON c.object_id = t.object_id
WHERE t.name LIKE '#mine%' ORDER BY c.column_id;
GO
SELECT name FROM sys.system_views WHERE name IN ('dm_exec_sessions', 'dm_pdw_nodes_exec_sessions');
GO
EXEC sp_addextendedproperty 'MS_Description', 'who it belongs to', 'SCHEMA', 'dbo', 'TABLE', 'child', 'COLUMN', 'parent_id';
GO
SELECT 1 AS n FROM fn_listextendedproperty(default, default, default, default, default, default, default);
SELECT objname, name, value FROM fn_listextendedproperty(default, 'schema', 'dbo', 'table', 'child', 'column', default);
GO
-- DEFAULT as an argument is the parameter's own.
CREATE FUNCTION some_rows (@n int = 3) RETURNS @t TABLE (n int) AS BEGIN INSERT @t VALUES (@n); RETURN; END;
GO
SELECT n FROM some_rows(DEFAULT);
GO
CREATE SEQUENCE tally AS numeric(20, 0) START WITH 5;
GO
SELECT start_value, increment, current_value FROM sys.sequences;
GO
-- Checks show where they were declared and which columns they name.
CREATE TABLE ruled (a int CONSTRAINT ck_a CHECK (a > 0), b int, CONSTRAINT ck_both CHECK (a < b));
GO
SELECT name, COL_NAME(parent_object_id, parent_column_id) AS declared_with FROM sys.check_constraints WHERE parent_object_id = OBJECT_ID('ruled') ORDER BY name;
SELECT CONSTRAINT_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE WHERE TABLE_NAME IN ('ruled', 'child') ORDER BY 1, 2;
GO
-- A column is renamed by any name that leads to it, unless something depends on it.
EXEC sp_rename 'dbo.child.parent_id', 'owner_id';
GO
DECLARE @name nvarchar(400) = DB_NAME() + '.dbo.child.owner_id';
EXEC sp_rename @name, 'parent';
GO
SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('child') ORDER BY column_id;
GO
EXEC sp_rename 'child.parent', 'id', 'COLUMN';
GO
EXEC sp_rename 'ruled.a', 'c', 'COLUMN';
GO
EXEC sp_rename 'ruled.nothing', 'c';
