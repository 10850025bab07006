//! Tables and procedures in both dialects. Statement for statement the same work.

use super::Scale;
use crate::Dialect;

/// Drops and creates all tables, without their secondary index (made after loading).
#[must_use]
pub fn tables(dialect: Dialect) -> Vec<String> {
    let mut out = Vec::new();
    for name in TABLE_NAMES {
        out.push(format!("DROP TABLE IF EXISTS {name}"));
    }
    out.extend(TABLES.iter().map(|sql| dialect_types(sql, dialect)));
    out
}

/// Tables in loading order.
pub const TABLE_NAMES: [&str; 9] =
    ["item", "warehouse", "stock", "district", "customer", "history", "orders", "new_order", "order_line"];

/// The one secondary access path that the procedures need besides primary keys, and orders by customer.
#[must_use]
pub fn indexes() -> Vec<String> {
    vec![
        "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)".into(),
        "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)".into(),
    ]
}

fn dialect_types(sql: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::TransactSql => sql.replace("TINY", "tinyint").replace("STAMP", "datetime2(3)"),
        Dialect::Postgres => sql.replace("TINY", "smallint").replace("STAMP", "timestamp(3)"),
    }
}

const TABLES: [&str; 9] = [
    "CREATE TABLE item (i_id int NOT NULL PRIMARY KEY, i_im_id int, i_name varchar(24), i_price decimal(5,2), i_data varchar(50))",
    "CREATE TABLE warehouse (w_id int NOT NULL PRIMARY KEY, w_ytd decimal(12,2), w_tax decimal(4,4), w_name varchar(10), \
     w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9))",
    "CREATE TABLE stock (s_i_id int NOT NULL, s_w_id int NOT NULL, s_quantity int, s_dist_01 char(24), s_dist_02 char(24), \
     s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), \
     s_dist_09 char(24), s_dist_10 char(24), s_ytd int, s_order_cnt int, s_remote_cnt int, s_data varchar(50), \
     PRIMARY KEY (s_w_id, s_i_id))",
    "CREATE TABLE district (d_id TINY NOT NULL, d_w_id int NOT NULL, d_ytd decimal(12,2), d_tax decimal(4,4), d_next_o_id int, \
     d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9), \
     PRIMARY KEY (d_w_id, d_id))",
    "CREATE TABLE customer (c_id int NOT NULL, c_d_id TINY NOT NULL, c_w_id int NOT NULL, c_first varchar(16), c_middle char(2), \
     c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), \
     c_phone char(16), c_since STAMP, c_credit char(2), c_credit_lim decimal(12,2), c_discount decimal(4,4), \
     c_balance decimal(12,2), c_ytd_payment decimal(12,2), c_payment_cnt int, c_delivery_cnt int, c_data varchar(500), \
     PRIMARY KEY (c_w_id, c_d_id, c_id))",
    "CREATE TABLE history (h_c_id int, h_c_d_id TINY, h_c_w_id int, h_d_id TINY, h_w_id int, h_date STAMP, \
     h_amount decimal(6,2), h_data varchar(24))",
    "CREATE TABLE orders (o_id int NOT NULL, o_d_id TINY NOT NULL, o_w_id int NOT NULL, o_c_id int, o_entry_d STAMP, \
     o_carrier_id TINY, o_ol_cnt TINY, o_all_local TINY, PRIMARY KEY (o_w_id, o_d_id, o_id))",
    "CREATE TABLE new_order (no_o_id int NOT NULL, no_d_id TINY NOT NULL, no_w_id int NOT NULL, \
     PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
    "CREATE TABLE order_line (ol_o_id int NOT NULL, ol_d_id TINY NOT NULL, ol_w_id int NOT NULL, ol_number TINY NOT NULL, \
     ol_i_id int, ol_supply_w_id int, ol_delivery_d STAMP, ol_quantity TINY, ol_amount decimal(6,2), ol_dist_info char(24), \
     PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
];

/// The five procedures. They draw items from `1..=scale.items`; the one after is the item that does not exist.
#[must_use]
pub fn procedures(dialect: Dialect, scale: Scale) -> Vec<String> {
    let texts = match dialect {
        Dialect::TransactSql => TSQL,
        Dialect::Postgres => PLPGSQL,
    };
    let (items, beyond) = (scale.items.to_string(), (scale.items + 1).to_string());
    texts.iter().map(|s| s.replace("ITEMS", &items).replace("BEYOND", &beyond)).collect()
}

const TSQL: [&str; 5] = [
    "CREATE OR ALTER PROCEDURE neword @w_id int, @max_w_id int, @d_id int, @c_id int, @ol_cnt int, @rollback int AS
BEGIN
  SET NOCOUNT ON; SET XACT_ABORT ON
  DECLARE @discount decimal(4,4), @last varchar(16), @credit char(2), @d_tax decimal(4,4), @w_tax decimal(4,4),
    @o_id int, @n int = 1, @i_id int, @supply int, @quantity int, @price decimal(5,2), @i_name varchar(24), @i_data varchar(50),
    @s_quantity int, @s_data varchar(50), @dist char(24), @all_local int = 1, @total decimal(12,2) = 0, @amount decimal(6,2)
  BEGIN TRANSACTION
  SELECT @discount = c_discount, @last = c_last, @credit = c_credit FROM customer
    WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
  SELECT @w_tax = w_tax FROM warehouse WHERE w_id = @w_id
  UPDATE district SET @d_tax = d_tax, @o_id = d_next_o_id, d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = @w_id AND d_id = @d_id
  INSERT orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (@o_id, @d_id, @w_id, @c_id, SYSDATETIME(), NULL, @ol_cnt, 1)
  INSERT new_order (no_o_id, no_d_id, no_w_id) VALUES (@o_id, @d_id, @w_id)
  WHILE @n <= @ol_cnt
  BEGIN
    SET @i_id = CAST(RAND() * ITEMS AS int) + 1
    IF @n = @ol_cnt AND @rollback = 1 SET @i_id = BEYOND
    SET @supply = @w_id
    IF @max_w_id > 1 AND RAND() < 0.01
    BEGIN
      WHILE @supply = @w_id SET @supply = CAST(RAND() * @max_w_id AS int) + 1
      SET @all_local = 0
    END
    SET @quantity = CAST(RAND() * 10 AS int) + 1
    SELECT @price = i_price, @i_name = i_name, @i_data = i_data FROM item WHERE i_id = @i_id
    IF @@ROWCOUNT = 0
    BEGIN
      ROLLBACK TRANSACTION
      SELECT -1 AS o_id
      RETURN
    END
    SELECT @s_quantity = s_quantity, @s_data = s_data, @dist = CASE @d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02
        WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
        WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
      FROM stock WITH (UPDLOCK) WHERE s_w_id = @supply AND s_i_id = @i_id
    UPDATE stock SET s_quantity = CASE WHEN @s_quantity > @quantity + 9 THEN @s_quantity - @quantity ELSE @s_quantity - @quantity + 91 END,
        s_ytd = s_ytd + @quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + CASE WHEN @supply = @w_id THEN 0 ELSE 1 END
      WHERE s_w_id = @supply AND s_i_id = @i_id
    SET @amount = @quantity * @price
    SET @total = @total + @amount
    INSERT order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      VALUES (@o_id, @d_id, @w_id, @n, @i_id, @supply, NULL, @quantity, @amount, @dist)
    SET @n = @n + 1
  END
  IF @all_local = 0
    UPDATE orders SET o_all_local = 0 WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_id = @o_id
  COMMIT TRANSACTION
  SELECT @o_id AS o_id, @discount AS discount, @last AS last, @credit AS credit, @d_tax AS d_tax, @w_tax AS w_tax,
    @total * (1 - @discount) * (1 + @w_tax + @d_tax) AS total
END",
    "CREATE OR ALTER PROCEDURE payment @w_id int, @d_id int, @c_w_id int, @c_d_id int, @c_id int, @last varchar(16), @amount decimal(6,2) AS
BEGIN
  SET NOCOUNT ON; SET XACT_ABORT ON
  DECLARE @w_name varchar(10), @d_name varchar(10), @credit char(2), @data varchar(500), @balance decimal(12,2), @count int,
    @first varchar(16), @middle char(2), @discount decimal(4,4)
  BEGIN TRANSACTION
  IF @c_id = 0
  BEGIN
    SELECT @count = COUNT(*) FROM customer WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = @last
    SELECT @c_id = c_id FROM customer WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = @last
      ORDER BY c_first OFFSET @count / 2 ROWS FETCH NEXT 1 ROWS ONLY
  END
  UPDATE customer SET @balance = c_balance = c_balance - @amount, c_ytd_payment = c_ytd_payment + @amount,
      c_payment_cnt = c_payment_cnt + 1, @credit = c_credit, @first = c_first, @middle = c_middle, @last = c_last,
      @discount = c_discount
    WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id
  IF @credit = 'BC'
  BEGIN
    SELECT @data = c_data FROM customer WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id
    SET @data = LEFT(CONCAT(@c_id, ' ', @c_d_id, ' ', @c_w_id, ' ', @d_id, ' ', @w_id, ' ', @amount, ' ', @data), 500)
    UPDATE customer SET c_data = @data WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id
  END
  UPDATE district SET d_ytd = d_ytd + @amount, @d_name = d_name WHERE d_w_id = @w_id AND d_id = @d_id
  UPDATE warehouse SET w_ytd = w_ytd + @amount, @w_name = w_name WHERE w_id = @w_id
  INSERT history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (@c_id, @c_d_id, @c_w_id, @d_id, @w_id, SYSDATETIME(), @amount, CONCAT(@w_name, '    ', @d_name))
  COMMIT TRANSACTION
  SELECT @c_id AS c_id, @first AS first, @middle AS middle, @last AS last, @credit AS credit, @balance AS balance, @discount AS discount
END",
    "CREATE OR ALTER PROCEDURE delivery @w_id int, @carrier int AS
BEGIN
  SET NOCOUNT ON; SET XACT_ABORT ON
  DECLARE @d_id int = 1, @o_id int, @c_id int, @total decimal(12,2), @delivered int = 0
  BEGIN TRANSACTION
  WHILE @d_id <= 10
  BEGIN
    SET @o_id = NULL
    SELECT TOP (1) @o_id = no_o_id FROM new_order WITH (UPDLOCK) WHERE no_w_id = @w_id AND no_d_id = @d_id ORDER BY no_o_id
    IF @o_id IS NOT NULL
    BEGIN
      DELETE new_order WHERE no_w_id = @w_id AND no_d_id = @d_id AND no_o_id = @o_id
      UPDATE orders SET o_carrier_id = @carrier, @c_id = o_c_id WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_id = @o_id
      UPDATE order_line SET ol_delivery_d = SYSDATETIME() WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id
      SELECT @total = SUM(ol_amount) FROM order_line WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id
      UPDATE customer SET c_balance = c_balance + @total, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
      SET @delivered = @delivered + 1
    END
    SET @d_id = @d_id + 1
  END
  COMMIT TRANSACTION
  SELECT @delivered AS delivered
END",
    "CREATE OR ALTER PROCEDURE ostat @w_id int, @d_id int, @c_id int, @last varchar(16) AS
BEGIN
  SET NOCOUNT ON
  DECLARE @balance decimal(12,2), @first varchar(16), @middle char(2), @count int, @o_id int, @entry datetime2(3), @carrier int, @lines int
  IF @c_id = 0
  BEGIN
    SELECT @count = COUNT(*) FROM customer WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @last
    SELECT @c_id = c_id FROM customer WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @last
      ORDER BY c_first OFFSET @count / 2 ROWS FETCH NEXT 1 ROWS ONLY
  END
  SELECT @balance = c_balance, @first = c_first, @middle = c_middle, @last = c_last FROM customer
    WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
  SELECT TOP (1) @o_id = o_id, @carrier = o_carrier_id, @entry = o_entry_d FROM orders
    WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_c_id = @c_id ORDER BY o_id DESC
  SELECT @lines = COUNT(*) FROM order_line WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id
  SELECT @c_id AS c_id, @first AS first, @middle AS middle, @last AS last, @balance AS balance, @o_id AS o_id, @entry AS entry,
    @carrier AS carrier, @lines AS lines
END",
    "CREATE OR ALTER PROCEDURE slev @w_id int, @d_id int, @threshold int AS
BEGIN
  SET NOCOUNT ON
  DECLARE @next int, @low int
  SELECT @next = d_next_o_id FROM district WHERE d_w_id = @w_id AND d_id = @d_id
  SELECT @low = COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = @w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id >= @next - 20 AND ol_o_id < @next AND s_quantity < @threshold
  SELECT @low AS low
END",
];

const PLPGSQL: [&str; 5] = [
    "CREATE OR REPLACE FUNCTION neword(p_w_id int, p_max_w_id int, p_d_id int, p_c_id int, p_ol_cnt int, p_rollback int,
  OUT o_id int, OUT discount decimal, OUT last varchar, OUT credit char, OUT d_tax decimal, OUT w_tax decimal, OUT total decimal) AS $$
DECLARE v_n int := 1; v_i_id int; v_supply int; v_quantity int; v_price decimal(5,2); v_i_name varchar(24); v_i_data varchar(50);
  v_s_quantity int; v_s_data varchar(50); v_dist char(24); v_all_local int := 1; v_total decimal(12,2) := 0; v_amount decimal(6,2); v_o_id int;
BEGIN
  SELECT c_discount, c_last, c_credit INTO discount, last, credit FROM customer
    WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id;
  SELECT warehouse.w_tax INTO w_tax FROM warehouse WHERE w_id = p_w_id;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w_id AND d_id = p_d_id
    RETURNING district.d_tax, d_next_o_id - 1 INTO d_tax, v_o_id;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (v_o_id, p_d_id, p_w_id, p_c_id, clock_timestamp(), NULL, p_ol_cnt, 1);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o_id, p_d_id, p_w_id);
  WHILE v_n <= p_ol_cnt LOOP
    v_i_id := floor(random() * ITEMS)::int + 1;
    IF v_n = p_ol_cnt AND p_rollback = 1 THEN v_i_id := BEYOND; END IF;
    v_supply := p_w_id;
    IF p_max_w_id > 1 AND random() < 0.01 THEN
      WHILE v_supply = p_w_id LOOP v_supply := floor(random() * p_max_w_id)::int + 1; END LOOP;
      v_all_local := 0;
    END IF;
    v_quantity := floor(random() * 10)::int + 1;
    SELECT i_price, i_name, i_data INTO v_price, v_i_name, v_i_data FROM item WHERE i_id = v_i_id;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'item number is not valid' USING ERRCODE = 'P0400';
    END IF;
    SELECT s_quantity, s_data, CASE p_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02
        WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
        WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
      INTO v_s_quantity, v_s_data, v_dist FROM stock WHERE s_w_id = v_supply AND s_i_id = v_i_id FOR UPDATE;
    UPDATE stock SET s_quantity = CASE WHEN v_s_quantity > v_quantity + 9 THEN v_s_quantity - v_quantity ELSE v_s_quantity - v_quantity + 91 END,
        s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + CASE WHEN v_supply = p_w_id THEN 0 ELSE 1 END
      WHERE s_w_id = v_supply AND s_i_id = v_i_id;
    v_amount := v_quantity * v_price;
    v_total := v_total + v_amount;
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      VALUES (v_o_id, p_d_id, p_w_id, v_n, v_i_id, v_supply, NULL, v_quantity, v_amount, v_dist);
    v_n := v_n + 1;
  END LOOP;
  IF v_all_local = 0 THEN
    UPDATE orders SET o_all_local = 0 WHERE o_w_id = p_w_id AND o_d_id = p_d_id AND orders.o_id = v_o_id;
  END IF;
  o_id := v_o_id;
  total := v_total * (1 - discount) * (1 + w_tax + d_tax);
END $$ LANGUAGE plpgsql",
    "CREATE OR REPLACE FUNCTION payment(p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, p_c_id int, p_last varchar, p_amount decimal,
  OUT c_id int, OUT first varchar, OUT middle char, OUT last varchar, OUT credit char, OUT balance decimal, OUT discount decimal) AS $$
DECLARE v_c_id int := p_c_id; v_w_name varchar(10); v_d_name varchar(10); v_data varchar(500); v_count int;
BEGIN
  IF v_c_id = 0 THEN
    SELECT COUNT(*) INTO v_count FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_last;
    SELECT customer.c_id INTO v_c_id FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_last
      ORDER BY c_first OFFSET v_count / 2 LIMIT 1;
  END IF;
  UPDATE customer SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1
    WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND customer.c_id = v_c_id
    RETURNING c_balance, c_credit, c_first, c_middle, c_last, c_discount INTO balance, credit, first, middle, last, discount;
  IF credit = 'BC' THEN
    SELECT c_data INTO v_data FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND customer.c_id = v_c_id;
    v_data := LEFT(CONCAT(v_c_id, ' ', p_c_d_id, ' ', p_c_w_id, ' ', p_d_id, ' ', p_w_id, ' ', p_amount, ' ', v_data), 500);
    UPDATE customer SET c_data = v_data WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND customer.c_id = v_c_id;
  END IF;
  UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w_id AND d_id = p_d_id RETURNING d_name INTO v_d_name;
  UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w_id RETURNING w_name INTO v_w_name;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (v_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, clock_timestamp(), p_amount, CONCAT(v_w_name, '    ', v_d_name));
  c_id := v_c_id;
END $$ LANGUAGE plpgsql",
    "CREATE OR REPLACE FUNCTION delivery(p_w_id int, p_carrier int, OUT delivered int) AS $$
DECLARE v_d_id int := 1; v_o_id int; v_c_id int; v_total decimal(12,2);
BEGIN
  delivered := 0;
  WHILE v_d_id <= 10 LOOP
    v_o_id := NULL;
    SELECT no_o_id INTO v_o_id FROM new_order WHERE no_w_id = p_w_id AND no_d_id = v_d_id ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF v_o_id IS NOT NULL THEN
      DELETE FROM new_order WHERE no_w_id = p_w_id AND no_d_id = v_d_id AND no_o_id = v_o_id;
      UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w_id AND o_d_id = v_d_id AND o_id = v_o_id RETURNING o_c_id INTO v_c_id;
      UPDATE order_line SET ol_delivery_d = clock_timestamp() WHERE ol_w_id = p_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
      SELECT SUM(ol_amount) INTO v_total FROM order_line WHERE ol_w_id = p_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
      UPDATE customer SET c_balance = c_balance + v_total, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = p_w_id AND c_d_id = v_d_id AND c_id = v_c_id;
      delivered := delivered + 1;
    END IF;
    v_d_id := v_d_id + 1;
  END LOOP;
END $$ LANGUAGE plpgsql",
    "CREATE OR REPLACE FUNCTION ostat(p_w_id int, p_d_id int, p_c_id int, p_last varchar,
  OUT c_id int, OUT first varchar, OUT middle char, OUT last varchar, OUT balance decimal, OUT o_id int, OUT entry timestamp, OUT carrier int, OUT lines int) AS $$
DECLARE v_count int; v_c_id int := p_c_id; v_o_id int;
BEGIN
  IF v_c_id = 0 THEN
    SELECT COUNT(*) INTO v_count FROM customer WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_last;
    SELECT customer.c_id INTO v_c_id FROM customer WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_last
      ORDER BY c_first OFFSET v_count / 2 LIMIT 1;
  END IF;
  SELECT c_balance, c_first, c_middle, c_last INTO balance, first, middle, last FROM customer
    WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND customer.c_id = v_c_id;
  SELECT orders.o_id, o_carrier_id, o_entry_d INTO v_o_id, carrier, entry FROM orders
    WHERE o_w_id = p_w_id AND o_d_id = p_d_id AND o_c_id = v_c_id ORDER BY orders.o_id DESC LIMIT 1;
  SELECT COUNT(*) INTO lines FROM order_line WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id = v_o_id;
  c_id := v_c_id;
  o_id := v_o_id;
END $$ LANGUAGE plpgsql",
    "CREATE OR REPLACE FUNCTION slev(p_w_id int, p_d_id int, p_threshold int, OUT low int) AS $$
DECLARE v_next int;
BEGIN
  SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w_id AND d_id = p_d_id;
  SELECT COUNT(DISTINCT s_i_id) INTO low FROM order_line JOIN stock ON s_w_id = p_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id >= v_next - 20 AND ol_o_id < v_next AND s_quantity < p_threshold;
END $$ LANGUAGE plpgsql",
];
