-- Stored procedures in the style of order-entry benchmarks.
create table district (d_id int, d_w_id int, d_tax decimal(4, 4), d_next_o_id int, primary key (d_w_id, d_id))
create table stock (s_i_id int, s_w_id int, s_quantity int, s_ytd int, primary key (s_w_id, s_i_id))
create table orders (o_id int, o_d_id int, o_w_id int, o_entry_d datetime2(3), o_ol_cnt tinyint, primary key (o_w_id, o_d_id, o_id))
create table order_line (ol_o_id int, ol_d_id int, ol_w_id int, ol_number tinyint, ol_i_id int, ol_amount smallmoney, primary key (ol_w_id, ol_d_id, ol_o_id, ol_number))
create table customer (c_id int, c_d_id int, c_w_id int, c_last varchar(16), c_first varchar(16), c_balance decimal(12, 2), c_data varchar(500), primary key (c_w_id, c_d_id, c_id))
create index c_name on customer (c_w_id, c_d_id, c_last, c_first)
GO
set nocount on
declare @i int = 1
while @i <= 10
begin
    insert district values (@i, 1, 0.05, 3001)
    insert customer values (@i, 1, 1, case when @i % 2 = 0 then 'BAR' else 'OUGHT' end, 'F' + cast(@i as varchar(5)), 10, 'data')
    insert stock values (@i, 1, 50, 0)
    set @i += 1
end
GO
CREATE PROCEDURE [dbo].[neword] @w_id int, @d_id int, @ol_cnt int, @TIMESTAMP datetime2(3) AS
BEGIN
    SET NOCOUNT ON
    DECLARE @d_tax smallmoney, @o_id int, @n int, @i_id int, @q int, @msg nvarchar(200)
    BEGIN TRANSACTION
    BEGIN TRY
        UPDATE dbo.district SET @d_tax = d_tax, @o_id = d_next_o_id, d_next_o_id = district.d_next_o_id + 1 WHERE d_id = @d_id AND d_w_id = @w_id
        INSERT dbo.orders (o_id, o_d_id, o_w_id, o_entry_d, o_ol_cnt) VALUES (@o_id, @d_id, @w_id, @TIMESTAMP, @ol_cnt)
        SET @n = 1
        WHILE @n <= @ol_cnt
        BEGIN
            SET @i_id = @n * 2
            UPDATE dbo.stock SET @q = s_quantity = CASE WHEN s_quantity > 10 THEN s_quantity - 1 ELSE s_quantity + 90 END, s_ytd = s_ytd + 1 WHERE s_i_id = @i_id AND s_w_id = @w_id
            IF @@ROWCOUNT = 0 RAISERROR('no such item %d', 16, 1, @i_id)
            INSERT dbo.order_line VALUES (@o_id, @d_id, @w_id, @n, @i_id, @q * (1 + @d_tax))
            SET @n = @n + 1
        END
        COMMIT TRANSACTION
    END TRY
    BEGIN CATCH
        SET @msg = ERROR_MESSAGE()
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION
        PRINT 'rolled back: ' + @msg
    END CATCH
    SELECT CONVERT(char(8), @d_tax) AS N'@d_tax', @o_id AS o_id
END
GO
EXEC neword 1, 1, 3, '2024-01-02 03:04:05.678'
EXEC neword 1, 1, 6, '2024-01-02'
SELECT d_next_o_id FROM district WHERE d_id = 1
SELECT * FROM orders
SELECT * FROM order_line
GO
CREATE PROCEDURE payment @w int, @d int, @last varchar(16), @amount decimal(6, 2) AS
BEGIN
    SET NOCOUNT ON
    DECLARE @namecnt int, @c_id int, @balance decimal(12, 2)
    BEGIN TRAN
    SELECT @namecnt = COUNT(*) FROM dbo.customer WITH (REPEATABLEREAD) WHERE c_last = @last AND c_d_id = @d AND c_w_id = @w
    DECLARE c_byname CURSOR STATIC LOCAL FOR SELECT c_id FROM dbo.customer WHERE c_w_id = @w AND c_d_id = @d AND c_last = @last ORDER BY c_first
    OPEN c_byname
    IF @namecnt % 2 = 1 SET @namecnt = @namecnt + 1
    DECLARE @n int = 0
    WHILE @n <= @namecnt / 2
    BEGIN
        FETCH c_byname INTO @c_id
        SET @n = @n + 1
    END
    CLOSE c_byname
    DEALLOCATE c_byname
    UPDATE dbo.customer SET @balance = c_balance = c_balance - @amount, c_data = LEFT(CAST(@c_id AS varchar(10)) + ' ' + c_data, 500) WHERE c_w_id = @w AND c_d_id = @d AND c_id = @c_id
    COMMIT
    SELECT @c_id AS id, @balance AS balance
END
GO
EXEC payment 1, 1, 'BAR', 12.34
SELECT c_data FROM customer WHERE c_id = 8
GO
-- the delivery's oldest order with OUTPUT
DECLARE @d TABLE (o int)
DELETE TOP (1) FROM order_line OUTPUT deleted.ol_o_id INTO @d WHERE ol_w_id = 1
SELECT * FROM @d
GO
