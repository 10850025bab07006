-- The thin slice: a database, a table, rows, a procedure with parameters and a transaction.
create database shop
GO
use shop
GO
create table dbo.item (id int not null primary key, name varchar(20), price decimal(10, 2) default 1.5)
GO
insert into item (id, name, price) values (1, 'one', 10), (2, 'two', 20.25)
insert into item (id, name) values (3, 'three')
GO
select * from item order by id
GO
update item set price = price + 1 where id = 2
select @@rowcount as n, @@trancount as t
delete from item where id = 1
select id, price from dbo.item
GO
create procedure add_item @id int, @name varchar(20) = 'unnamed', @total int output
as
begin
    set nocount on
    begin transaction
    insert into item (id, name) values (@id, @name)
    update item set price = price * 2 where id = @id
    commit
    select @total = count(*) from item
    select id, name, price from item where id = @id
    return 7
end
GO
declare @n int, @rc int
exec @rc = add_item 10, 'ten', @n output
select @n as total, @rc as rc
exec add_item @id = 11, @total = @n output
select @n as total
GO
exec add_item 10, 'again', null
select @@error as e, @@trancount as t
GO
select count(*) as n from item
