-- Logins that are to be the same on several instances: their identifier, their password's hash, their language and database.
create login app with password = 'A-password-1', sid = 0x000102030405060708090A0B0C0D0E0F, default_language = German
GO
select name, sid, default_language_name, default_database_name from sys.server_principals where name = 'app'
select suser_sname(0x000102030405060708090A0B0C0D0E0F) as name, loginproperty('app', 'DefaultLanguage') as language
GO
create login other with password = 'A-password-1', sid = 0x000102030405060708090A0B0C0D0E0F
GO
create login other with password = 'A-password-1', sid = 0x0102
GO
create login other with password = 'A-password-1', default_language = Quenya
GO
create login other with password = 'A-password-1', default_database = nowhere
GO
alter login app with default_language = [norsk (bokmål)], default_database = tempdb
alter login app with default_language = Quenya
GO
select default_language_name, default_database_name from sys.sql_logins where name = 'app'
exec sp_defaultlanguage 'app', 'Suomi'
select default_language_name from sys.sql_logins where name = 'app'
exec sp_defaultlanguage 'app'
select default_language_name from sys.sql_logins where name = 'app'
GO
-- What sp_help_revlogin does: the login is made elsewhere from its hash.
declare @text nvarchar(max) = (select 'create login again with password = ' + convert(varchar(max), cast(loginproperty('app', 'PasswordHash') as varbinary(256)), 1) + ' hashed, sid = 0x100102030405060708090A0B0C0D0E0F')
exec (@text)
select pwdcompare('A-password-1', password_hash) as the_same, pwdcompare('another', password_hash) as another from sys.sql_logins where name = 'again'
GO
create login bad with password = 0xFF01 hashed
GO
exec sp_addlogin 'old', 'A-password-1', 'master', 'Deutsch', 0x200102030405060708090A0B0C0D0E0F
select name, sid, default_language_name from sys.sql_logins where name = 'old'
GO
execute as login = 'app'
select count(*) as hashes from sys.sql_logins where password_hash is not null
select loginproperty('again', 'PasswordHash') as hash
revert
GO
drop login app
drop login again
drop login old
GO
