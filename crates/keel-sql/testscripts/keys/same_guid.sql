-- Two databases' keys with one guid: each is its database's, and so is closing it.
create database shop
create database other
GO
use shop
create symmetric key k with algorithm = aes_256, key_source = 'here', identity_value = 'one name' encryption by password = 'p'
use other
create symmetric key k with algorithm = aes_256, key_source = 'there', identity_value = 'one name' encryption by password = 'p'
open symmetric key k decryption by password = 'p'
use shop
alter symmetric key k add encryption by password = 'q'
GO
open symmetric key k decryption by password = 'p'
select database_name, key_name from sys.openkeys
declare @v varbinary(200) = encryptbykey(key_guid('k'), 'of shop')
use other
select decryptbykey(@v) as by_another
use shop
select convert(varchar(20), decryptbykey(@v)) as plain
close symmetric key k
select database_name, key_name from sys.openkeys
GO
close symmetric key k
GO
