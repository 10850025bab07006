-- ADD and DROP SENSITIVITY CLASSIFICATION: what is said of columns, in sys.sensitivity_classifications.
CREATE SCHEMA crm;
GO
CREATE TABLE crm.customers (id int PRIMARY KEY, name nvarchar(50), card varchar(20), note nvarchar(max));
GO
CREATE VIEW said AS SELECT OBJECT_NAME(s.major_id) AS tab, c.name AS col, s.label, s.label_id, s.information_type, s.information_type_id, s.rank, s.rank_desc
FROM sys.sensitivity_classifications s JOIN sys.columns c ON c.object_id = s.major_id AND c.column_id = s.minor_id;
GO
ADD SENSITIVITY CLASSIFICATION TO crm.customers.name, crm.customers.card
WITH (LABEL = 'Highly Confidential', LABEL_ID = '643f7acd-776a-438d-890c-79c3f2a520d6', INFORMATION_TYPE = N'Credit Card', RANK = CRITICAL);
GO
ADD SENSITIVITY CLASSIFICATION TO crm.customers.note WITH (INFORMATION_TYPE = 'Other');
GO
SELECT * FROM said ORDER BY col;
SELECT class, class_desc FROM sys.sensitivity_classifications;
GO
-- What is said anew takes the place of what was; nothing is said of a column that is gone, and a name is not what it is said of.
ADD SENSITIVITY CLASSIFICATION TO [crm].[customers].[name] WITH (LABEL = 'General', RANK = LOW);
ALTER TABLE crm.customers DROP COLUMN note;
EXEC sp_rename 'crm.customers.card', 'card_number', 'COLUMN';
ALTER TABLE crm.customers ALTER COLUMN card_number varchar(30);
SELECT col, label, rank, rank_desc FROM said ORDER BY col;
GO
DROP SENSITIVITY CLASSIFICATION FROM crm.customers.name;
SELECT col FROM said;
GO
-- Within a transaction, like other definitions.
BEGIN TRANSACTION;
DROP SENSITIVITY CLASSIFICATION FROM crm.customers.card_number;
SELECT COUNT(*) AS n FROM said;
ROLLBACK;
SELECT COUNT(*) AS n FROM said;
GO
-- Triggers hear of it.
CREATE TRIGGER hears ON DATABASE FOR ADD_SENSITIVITY_CLASSIFICATION, DROP_SENSITIVITY_CLASSIFICATION AS
PRINT EVENTDATA().value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(100)') + ' ' + EVENTDATA().value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(100)');
GO
ADD SENSITIVITY CLASSIFICATION TO crm.customers.name WITH (RANK = NONE);
DROP SENSITIVITY CLASSIFICATION FROM crm.customers.name;
DROP TRIGGER hears ON DATABASE;
GO
-- What cannot be said.
ADD SENSITIVITY CLASSIFICATION TO crm.nothing.name WITH (LABEL = 'x');
GO
ADD SENSITIVITY CLASSIFICATION TO crm.customers.nothing WITH (LABEL = 'x');
GO
ADD SENSITIVITY CLASSIFICATION TO crm.customers.name WITH (COLOUR = 'red');
GO
ADD SENSITIVITY CLASSIFICATION TO crm.customers.name WITH (RANK = HUGE);
GO
ADD SENSITIVITY CLASSIFICATION TO name WITH (LABEL = 'x');
GO
ADD SENSITIVITY CLASSIFICATION TO crm.customers.name WITH (LABEL = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx');
GO
CREATE USER clerk WITHOUT LOGIN;
GRANT ALTER ON SCHEMA::crm TO clerk;
EXECUTE AS USER = 'clerk';
GO
ADD SENSITIVITY CLASSIFICATION TO crm.customers.name WITH (LABEL = 'x');
GO
REVERT;
GRANT ALTER ANY SENSITIVITY CLASSIFICATION TO clerk;
EXECUTE AS USER = 'clerk';
ADD SENSITIVITY CLASSIFICATION TO crm.customers.name WITH (LABEL = 'x');
REVERT;
SELECT col, label FROM said ORDER BY col;
DROP TABLE crm.customers;
SELECT COUNT(*) AS n FROM sys.sensitivity_classifications;
GO
DROP VIEW said;
DROP USER clerk;
DROP SCHEMA crm;
GO
