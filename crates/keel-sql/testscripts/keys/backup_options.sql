-- What is said of a private key's file are constants with known names: nothing is written that the caller did not mean.
create master key encryption by password = 'Pass word 1'
create certificate c with subject = 'c'
GO
declare @p nvarchar(20) = 'x'
backup certificate c to file = '/c.cer' with private key (file = '/c.pvk', encryption by password = @p)
GO
declare @f nvarchar(20) = '/c.pvk'
backup certificate c to file = '/c.cer' with private key (file = @f, encryption by password = 'x')
GO
backup certificate c to file = '/c.cer' with private key (file = '/c.pvk')
GO
backup certificate c to file = '/c.cer' with private key (encryption by password = 'x')
GO
backup certificate c to file = '/c.cer' with private key (fiel = '/c.pvk', encryption by password = 'x')
GO
backup certificate c to file = '/c.cer' with format = 'PFX'
GO
declare @p nvarchar(20) = 'x'
alter certificate c with private key (encryption by password = @p)
GO
declare @p nvarchar(20) = 'x'
create certificate d from file = '/c.cer' with private key (file = '/c.pvk', decryption by password = 'x', encryption by password = @p)
GO
-- Nothing is left of all that: the names are free.
backup certificate c to file = '/c.cer' with private key (file = '/c.pvk', encryption by password = 'x')
select name, pvt_key_encryption_type_desc from sys.certificates where name not like '##%'
GO
