CREATE TABLE q (w int NOT NULL, d int NOT NULL, o int NOT NULL, v varchar(10) NULL, PRIMARY KEY (w, d, o));
INSERT q VALUES (1, 1, 5, 'five'), (1, 1, 7, 'seven'), (1, 2, 1, 'x'), (1, 1, 9, NULL);
DECLARE @o int, @n int = 0;
BEGIN TRANSACTION;
SELECT TOP 1 @o = o FROM q WITH (serializable updlock) WHERE w = 1 AND d = 1 ORDER BY o ASC;
SELECT @o;
SELECT TOP 2 o FROM q WITH (serializable updlock) WHERE w = 1 AND d = 1 ORDER BY o DESC;
SELECT TOP 5 o, v FROM q WITH (holdlock) WHERE w = 1 AND d = 1 AND o > 5;
SELECT o FROM q WITH (repeatableread) WHERE w = 1 ORDER BY d, o;
SELECT o FROM q WITH (xlock, rowlock) WHERE w = 1 AND d = 2;
DELETE TOP (1) FROM q OUTPUT deleted.o WHERE w = 1 AND d = 1;
SELECT COUNT(*) FROM q WITH (nolock);
ROLLBACK;
UPDATE q SET v = 'z', @n = @n + o WHERE w = 1 AND d = 1;
SELECT @n;
UPDATE q SET @o = o = o + 100 OUTPUT inserted.o, deleted.o, inserted.v, @o WHERE w = 1 AND d = 2 AND o = 1;
SELECT * FROM q;
GO
SELECT TOP 1 o FROM (SELECT TOP 50 PERCENT o, v FROM q WITH (repeatableread) WHERE w = 1 AND d = 1 ORDER BY o) x ORDER BY o DESC;
GO
