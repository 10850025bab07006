-- Values that the product made are read: the form of 2017 and later, and the one before it.
select cast(decryptbypassphrase('Radames', 0x02000000266AD4F387FA9474E825B013B0232E73A398A5F72B79BC90D63BD1E45AE3AA5518828D187125BECC285D55FA7CAFED61) as varchar(40)) as v2,
  cast(decryptbypassphrase(N'banana', 0x010000007854E155CEE338D5E34808BA95367D506B97C63FB5114DD4CE687FE457C1B5D5) as nvarchar(40)) as v1
GO
declare @one varbinary(8000) = encryptbypassphrase('key', N'geheim äöü'), @other varbinary(8000) = encryptbypassphrase('key', N'geheim äöü')
select iif(@one <> @other, 'differ', 'same') as twice, substring(@one, 1, 4) as version, datalength(@one) as bytes,
  cast(decryptbypassphrase('key', @one) as nvarchar(40)) as text, decryptbypassphrase('Key', @one) as other_key,
  decryptbypassphrase('key', substring(@one, 1, 30)) as cut, decryptbypassphrase('key', 0x) as nothing
GO
-- With an authenticator: the same value moved to another row is not read.
create table cards (id int primary key, number varbinary(256))
insert cards select id, encryptbypassphrase('pass', number, 1, cast(id as varbinary(4))) from (values (1, '4111'), (2, '5222')) as c(id, number)
select id, cast(decryptbypassphrase('pass', number, 1, cast(id as varbinary(4))) as varchar(10)) as number,
  cast(decryptbypassphrase('pass', number) as varchar(10)) as without from cards
update a set number = b.number from cards a join cards b on b.id = 3 - a.id
select id, cast(decryptbypassphrase('pass', number, 1, cast(id as varbinary(4))) as varchar(10)) as moved from cards
select encryptbypassphrase(null, 'a') as a, encryptbypassphrase('a', null) as b, decryptbypassphrase('a', null) as c,
  encryptbypassphrase('a', replicate(cast('x' as varchar(max)), 9000)) as long
drop table cards
GO
select encryptbypassphrase('a', 1)
GO
select encryptbypassphrase('a')
GO
create table t (a varbinary(100), b as decryptbypassphrase('x', a))
select is_persisted, columnproperty(object_id('t'), 'b', 'IsDeterministic') as deterministic from sys.computed_columns where object_id = object_id('t')
drop table t
