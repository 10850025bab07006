-- Messages of users and names of backup devices belong to the instance, and are there after a power cut.
exec sp_addmessage 50001, 16, 'Item %d is not in %s.'
exec sp_addmessage 50001, 16, 'Stück %d ist nicht in %s.', 'German'
exec sp_addmessage @msgnum = 50002, @severity = 10, @msgtext = 'a note', @with_log = 'TRUE'
exec sp_addumpdevice 'disk', 'nightly', 'nightly.bak'
create database shop
backup database shop to nightly
GO
-- restart:
select message_id, language_id, severity, is_event_logged, text from sys.messages where message_id > 50000
raiserror(50001, -1, 1, 7, 'stock')
set language German
raiserror(50001, -1, 1, 7, 'stock')
select formatmessage(50001, 8, 'stock'), formatmessage(50002), formatmessage(50003)
set language us_english
GO
-- A text in another language may name the places of the us_english one by number.
exec sp_addmessage 50010, 16, 'Item %d is not in %s.'
exec sp_addmessage 50010, 16, 'In %2! fehlt Stück %1!.', 'German'
raiserror(50010, -1, 1, 7, 'stock')
set language German
raiserror(50010, -1, 1, 7, 'stock')
select formatmessage(50010, 8, 'stock'), formatmessage(50010)
set language us_english
exec sp_dropmessage 50010, 'all'
GO
-- Each text by itself, the us_english one last; the number and the severity hold for all.
exec sp_addmessage 50001, 16, 'again'
exec sp_addmessage 50001, 11, 'Item %d', @replace = 'replace'
exec sp_addmessage 50001, 16, 'Pièce %d', 'French'
exec sp_addmessage 50001, 11, 'Pièce %d', 'French'
exec sp_addmessage 50004, 16, 'rien', 'French'
exec sp_addmessage 50000, 16, 'none'
exec sp_addmessage 50005, 26, 'none'
exec sp_addmessage 50005, 16, 'none', 'Klingon'
exec sp_dropmessage 50001
exec sp_dropmessage 50001, 'French'
exec sp_dropmessage 50001, 'French'
exec sp_dropmessage 50001, 'all'
exec sp_dropmessage 50001
raiserror(50001, 16, 1)
GO
-- What goes to the error log whenever it is raised, a message of the product's, too.
exec sp_altermessage 8134, 'WITH_LOG', 'true'
select is_event_logged from sys.messages where message_id = 8134
exec sp_altermessage 8134, 'WITH_LOG', 'false'
select is_event_logged from sys.messages where message_id = 8134
exec sp_altermessage 50002, 'WITH_LOG', 'false'
exec sp_altermessage 50009, 'WITH_LOG', 'true'
exec sp_altermessage 50002, 'COLOUR', 'true'
select message_id, is_event_logged from sys.messages where message_id > 50000
GO
-- Devices.
select name, type_desc, physical_name from sys.backup_devices
exec sp_helpdevice
restore verifyonly from nightly
exec sp_addumpdevice 'disk', 'NIGHTLY', 'other.bak'
exec sp_addumpdevice 'cloud', 'c', 'c'
backup database shop to weekly
exec sp_dropdevice 'weekly'
exec sp_dropdevice 'nightly', 'delfile'
restore verifyonly from nightly
restore verifyonly from disk = 'nightly.bak'
GO
