-- A master key that was taken out of the instance's hands stays out of them when it becomes another one.
create database shop
GO
use shop
create master key encryption by password = 'Pass word 1'
alter master key regenerate with encryption by password = 'Pass word 2'
select name, is_master_key_encrypted_by_server from sys.databases where name = 'shop'
alter master key drop encryption by service master key
open master key decryption by password = 'Pass word 2'
alter master key regenerate with encryption by password = 'Pass word 3'
select name, is_master_key_encrypted_by_server from sys.databases where name = 'shop'
create certificate c with subject = 'c'
GO
open master key decryption by password = 'Pass word 3'
backup master key to file = '/shop.key' encryption by password = 'of the file'
restore master key from file = '/shop.key' decryption by password = 'of the file' encryption by password = 'Pass word 4'
select name, is_master_key_encrypted_by_server from sys.databases where name = 'shop'
GO
