-- Every currency sign of the product, in literals and in strings; operators with blanks inside.
select €1.5 as a, £-2 as b, ￥3 as c, ฿4 as d, ₹5 as not_one_of_them
go
select €1.5 as a, £-2 as b, ￥3 as c, ฿4 as d, ﷼6 as e, ₱7 as f
select cast('₩1,000' as money) as won, cast('-₪2' as smallmoney) as shekel
go
select 1 as n where 1 ! = 2 and 2 ! < 1 and 1 ! > 2 and 1 < > 2
