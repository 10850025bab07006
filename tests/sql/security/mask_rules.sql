-- Masks as parts of tables: how they are written, shown, changed and refused.
create database shop
GO
use shop
GO
create table m (a varchar(9) masked with (function = 'foo()'))
GO
create table m (a varchar(9) masked with (function = ''))
GO
create table m (a varchar(9) masked with (function = ' default()'))
GO
create table m (a int masked with (function = 'partial(1,"x",1)'))
GO
create table m (a int masked with (function = 'EMAIL()'))
GO
create table m (a varchar(9) masked with (function = 'random(1,2)'))
GO
create table m (a varchar(9) masked with (function = 'datetime("Y")'))
GO
create table m (a varbinary(9) masked with (function = 'partial(1,"x",1)'))
GO
create table m (a varchar(9) masked with (function = '  Default ( ) '))
GO
create table m (a varchar(9) masked with (function = 'default(1)'))
GO
create table m (a varchar(9) masked with (function = 'email() x'))
GO
create table m (a int masked with (function = 'random(1,2,3)'))
GO
create table m (a varchar(9) masked with (function = 'partial(-1,"x",1)'))
GO
create table m (a varchar(9) masked with (function = 'partial(1,x,1)'))
GO
create table m (a int masked with (function = 'random(10,1)'))
GO
create table m (a int masked with (function = 'random(1.5,2)'))
GO
create table m (a float masked with (function = 'random(1,1e3)'))
GO
create table m (a tinyint masked with (function = 'random(-5,300)'))
GO
create table m (a decimal(6,2) masked with (function = 'random(1,99999)'))
GO
create table m (a datetime masked with (function = 'datetime("Q")'))
GO
create table m (a date masked with (function = 'datetime("h")'))
GO
create table m (a time masked with (function = 'datetime("Y")'))
GO
create table m (a varchar(9) masked with (function = 'default'))
GO
create table m (a varchar(9) masked with (function = 'partial(1,"x",1'))
GO
create table m (x int not null masked with (function = 'default()'))
GO
create table m (x int identity masked with (function = 'default()'))
GO
create table m (x int masked (function = 'default()'))
GO
create table m (a varchar(20) collate Latin1_General_BIN masked with (function = 'PARTIAL( 01 , "a""b" , 0 )') not null, b varchar(20) masked with (function = 'default( )'),
    c decimal(6, 2) masked with (function = 'random(1.555, 3)'), d money masked with (function = 'random(1, 2.12345)'), e float masked with (function = 'random(1.50, 2.500)'),
    f int masked with (function = 'Random( 01 , 003 )') identity primary key, g date masked with (function = 'datetime("D")') null, h int)
select c.name, c.is_masked, m.masking_function from sys.columns c left join sys.masked_columns m on m.object_id = c.object_id and m.column_id = c.column_id where c.object_id = object_id('m') order by c.column_id
select columnproperty(object_id('m'), 'a', 'IsMasked') as a, columnproperty(object_id('m'), 'h', 'IsMasked') as h
GO
-- ALTER TABLE.
create table t (x varchar(10), y int masked with (function = 'default()'), z varchar(10) masked with (function = 'email()'), c as y + 1)
alter table t alter column x add masked with (function = 'partial(1, "x", 0)')
alter table t alter column z add masked with (function = 'default()')
alter table t add w int masked with (function = 'random(1, 2)') null
select name, masking_function from sys.masked_columns where object_id = object_id('t') order by column_id
GO
alter table t alter column y drop masked
GO
alter table t alter column c add masked with (function = 'default()')
GO
alter table t drop column c
alter table t alter column y drop masked
GO
alter table t alter column y drop masked
GO
alter table t alter column nothing drop masked
GO
alter table t alter column y add masked with (function = 'email()')
GO
-- Another type, without its mask or with one.
alter table t alter column x varchar(10)
alter table t alter column z varchar(20) masked with (function = 'partial(1, "-", 1)') null
select name, masking_function from sys.masked_columns where object_id = object_id('t') order by column_id
begin tran
alter table t alter column x add masked with (function = 'default()')
alter table t alter column z drop masked
rollback
select name, masking_function from sys.masked_columns where object_id = object_id('t') order by column_id
create type tt as table (a varchar(9) masked with (function = 'email()'))
select count(*) as n from sys.masked_columns where masking_function = 'email()'
GO
-- Who may.
create user ann without login
grant alter on schema::dbo to ann
grant create table to ann
GO
execute as user = 'ann'
create table dbo.own (a int masked with (function = 'default()'))
alter table dbo.own alter column a drop masked
GO
revert
grant alter any mask to ann
GO
execute as user = 'ann'
alter table dbo.own alter column a drop masked
revert
GO
-- A system-versioned table and its history.
create table v (id int primary key, a varchar(10) masked with (function = 'default()'), f datetime2 generated always as row start hidden, e datetime2 generated always as row end hidden, period for system_time (f, e))
    with (system_versioning = on (history_table = dbo.v_before))
insert v (id, a) values (1, 'one')
update v set a = 'two'
select object_name(object_id) as t, name, masking_function from sys.masked_columns where object_id in (object_id('v'), object_id('v_before')) order by t
grant select on v to ann
grant select on v_before to ann
execute as user = 'ann'
select id, a from v for system_time all
select id, a from v_before
revert
alter table v alter column a drop masked
select count(*) as n from sys.masked_columns where object_id in (object_id('v'), object_id('v_before'))
GO
