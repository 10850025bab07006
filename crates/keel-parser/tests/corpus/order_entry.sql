-- Schema and procedures in the style of an order-entry benchmark kit.
IF NOT EXISTS (SELECT name FROM sys.databases WHERE name = N'shop') CREATE DATABASE shop ON (NAME = shop_dat, FILENAME = 'shop.mdf', SIZE = 100MB, FILEGROWTH = 10%)
GO
USE [shop]
GO
SET ANSI_NULLS ON
GO
SET QUOTED_IDENTIFIER ON
GO
CREATE TABLE [dbo].[warehouse]( [w_id] [int] NOT NULL, [w_ytd] [money] NOT NULL, [w_tax] [smallmoney] NOT NULL, [w_name] [char](10) NULL, [padding] [char](4000) NULL,
 CONSTRAINT [W_PK] PRIMARY KEY CLUSTERED ([w_id] ASC) WITH (PAD_INDEX = OFF, STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF, ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = OFF, FILLFACTOR = 1, OPTIMIZE_FOR_SEQUENTIAL_KEY = ON) ON [PRIMARY]) ON [PRIMARY]
GO
ALTER TABLE [dbo].[warehouse] SET (LOCK_ESCALATION = DISABLE)
ALTER TABLE [dbo].[history] ADD DEFAULT (getdate()) FOR [h_date]
CREATE UNIQUE NONCLUSTERED INDEX [CUSTOMER_I2] ON [dbo].[customer] ([c_w_id] ASC, [c_d_id] ASC, [c_last] ASC, [c_id] ASC) INCLUDE ([c_credit], [c_street_1]) WITH (SORT_IN_TEMPDB = OFF, DROP_EXISTING = OFF, ONLINE = OFF, FILLFACTOR = 100) ON [PRIMARY]
GO
CREATE PROCEDURE [dbo].[neworder] @w_id int, @d_id int, @c_id int, @lines int, @stamp datetime2(0)
AS
BEGIN
SET ANSI_WARNINGS OFF
SET NOCOUNT ON
DECLARE @tax smallmoney, @rate smallmoney, @o_id int, @loop int, @item int, @price smallmoney, @qty int, @dist char(24), @local bit = 1, @remote int, @k uniqueidentifier = NEWID()
DECLARE @low int = 1, @high int = 100000
BEGIN TRANSACTION
BEGIN TRY
 UPDATE dbo.district SET @rate = d_tax, @o_id = d_next_o_id, d_next_o_id = district.d_next_o_id + 1 WHERE district.d_id = @d_id AND district.d_w_id = @w_id
 SET @loop = 1
 WHILE @loop <= @lines
 BEGIN
  IF ((@loop = @lines) AND (CAST(RAND() * 100 AS int) <= 1)) SET @item = 100001 ELSE SET @item = CAST((RAND() * ((@high + 1) - 1)) AS int) + 1
  SET @remote = (CASE CAST((RAND() * 100) AS int) WHEN 0 THEN 2 ELSE @w_id END)
  SELECT @price = i.i_price FROM dbo.item AS i WHERE i.i_id = @item
  UPDATE dbo.stock SET s_ytd = s_ytd + @qty, @qty = s_quantity = CASE WHEN s_quantity - @loop > 10 THEN s_quantity - @loop ELSE s_quantity - @loop + 91 END,
   @dist = CASE @d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 END
   WHERE s_i_id = @item AND s_w_id = @remote
  IF @@ROWCOUNT > 0
   INSERT dbo.order_line (ol_o_id, ol_d_id, ol_amount, ol_dist) VALUES (@o_id, @d_id, @qty * @price * (1 + @tax), @dist)
  SET @loop = @loop + 1
 END
 SELECT @tax = c.c_discount, @o_id AS o_id, N'' AS disc FROM dbo.customer AS c WITH (REPEATABLEREAD) JOIN dbo.warehouse w ON w.w_id = c.c_w_id WHERE c.c_id = @c_id OPTION (MAXDOP 1)
 SELECT convert(char(8), @o_id) AS N'@o_id', @rate AS '@rate'
END TRY
BEGIN CATCH
 SELECT ERROR_NUMBER() AS ErrorNumber, ERROR_SEVERITY() AS ErrorSeverity, ERROR_STATE() AS ErrorState, ERROR_PROCEDURE() AS ErrorProcedure, ERROR_LINE() AS ErrorLine, ERROR_MESSAGE() AS ErrorMessage;
 IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
END CATCH;
IF @@TRANCOUNT > 0 COMMIT TRANSACTION;
END
GO
CREATE PROCEDURE [dbo].[deliver] @w_id int, @carrier int AS
BEGIN
DECLARE @d int = 1, @total numeric(12, 2), @gone TABLE (o_id int, c_id int)
WHILE @d <= 10 BEGIN
 DELETE TOP (1) FROM dbo.new_order OUTPUT deleted.no_o_id INTO @gone (o_id) WHERE no_w_id = @w_id AND no_d_id = @d
 SELECT TOP 1 @total = SUM(ol_amount), @d += 0 FROM dbo.order_line WHERE ol_w_id = @w_id
 DECLARE names CURSOR LOCAL FAST_FORWARD FOR SELECT c_id FROM dbo.customer WHERE c_last LIKE 'BAR%' ORDER BY c_first
 OPEN names
 FETCH names INTO @d
 WHILE (@@FETCH_STATUS <> -1) BEGIN FETCH NEXT FROM names INTO @d END
 CLOSE names DEALLOCATE names
 SET @d = @d + 1
END
END
GO
EXEC sp_updatestats
GO
CREATE OR ALTER VIEW dbo.recent WITH SCHEMABINDING AS SELECT o_id, COUNT_BIG(*) AS n FROM dbo.orders GROUP BY o_id
GO
SELECT TOP 100 s_name, COUNT_BIG(*) AS waits FROM supplier, lineitem l1, orders WHERE s_key = l1.l_key AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.o = l1.o AND l2.s <> l1.s) AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.o = l1.o) GROUP BY s_name ORDER BY waits DESC, s_name OPTION (MAXDOP 2)
GO
SELECT year, SUM(CASE WHEN nation = 'PERU' THEN volume ELSE 0 END) / SUM(volume) FROM (SELECT DATEPART(yy, o_date) AS year, price * (1 - disc) AS volume, n_name AS nation FROM part, orders WHERE o_date BETWEEN '1995-01-01' AND '1996-12-31') all_nations GROUP BY year ORDER BY year
