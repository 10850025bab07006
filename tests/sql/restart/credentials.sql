-- Credentials are there after a power cut, of the instance and of a database.
create credential ledger with identity = 'clerk', secret = 'Hush-1'
create database shop
GO
use shop
create master key encryption by password = 'Master-key-1'
create database scoped credential feed with identity = 'reader', secret = 'Hush-2'
GO
-- restart:
select name, credential_identity from sys.credentials
select name, credential_identity from shop.sys.database_scoped_credentials
create credential ledger with identity = 'x'
GO
