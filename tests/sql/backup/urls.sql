-- Backups to URLs: with which credential, what is in the way, and that nothing is left of one that fails.
create database shop
GO
alter database shop set recovery full
GO
use shop
create table item (id int primary key, name nvarchar(40))
insert item values (1, N'bolt'), (2, N'nut')
GO
use master
GO
-- There has to be a credential, of the right kind, whose name begins the URL.
backup database shop to url = 's3://store/shop/full.bak'
GO
create credential [s3://store/shop] with identity = 'somebody', secret = 'AKID:right'
GO
backup database shop to url = 's3://store/shop/full.bak'
GO
alter credential [s3://store/shop] with identity = 'S3 Access Key', secret = 'AKID'
GO
backup database shop to url = 's3://store/shop/full.bak'
GO
alter credential [s3://store/shop] with identity = 'S3 Access Key', secret = 'AKID:wrong'
GO
backup database shop to url = 's3://store/shop/full.bak'
GO
-- The longest name counts, up to a part of the path.
create credential [s3://store/shop/full] with identity = 'S3 Access Key', secret = 'AKID:wrong'
create credential [s3://STORE/shop/full.bak] with identity = 'S3 Access Key', secret = 'AKID:right'
GO
backup database shop to url = 's3://store/shop/full.bak' with stats = 50, checksum, blocksize = 65536, name = N'first'
GO
alter credential [s3://store/shop] with identity = 'S3 Access Key', secret = 'AKID:right'
drop credential [s3://store/shop/full]
drop credential [s3://store/shop/full.bak]
create credential elsewhere with identity = 'S3 Access Key', secret = 'AKID:wrong'
create credential [s3://store/nothere] with identity = 'S3 Access Key', secret = 'AKID:right'
GO
backup database shop to url = 's3://store/shop/other.bak' with credential = 'elsewhere'
GO
backup database shop to url = 's3://store/shop/other.bak' with credential = 'missing'
GO
backup database shop to url = 's3://store/nothere/full.bak'
GO
backup database shop to url = 's3://store/shop/other.bak' with backup_options = '{"s3": {"region": "eu-central-1"}}'
GO
backup database shop to url = 's3://store/shop/other.bak' with backup_options = 'eu-central-1'
GO
backup database shop to url = 's3://store/shop/other.bak' with maxtransfersize = 65536
GO
-- One that is there is not written over, or behind, unless FORMAT says so.
backup database shop to url = 's3://store/shop/full.bak'
GO
backup database shop to url = 's3://store/shop/full.bak' with init
GO
backup database shop to url = 's3://store/shop/full.bak' with format, compression, maxtransfersize = 5242880, backup_options = '{"s3": {"region": "us-east-1"}}'
GO
-- What is no such URL, and a path that looks like one.
backup database shop to url = 'ftp://store/shop/full.bak'
GO
backup database shop to disk = 's3://store/shop/full.bak'
GO
backup database shop to url = 's3://store/shop/a.bak', disk = 'b.bak'
GO
backup database shop to disk = 'a.bak' mirror to url = 's3://store/shop/a.bak' with format
GO
-- Several, which are one set; one that fails takes the others with it.
backup database shop to url = 's3://store/shop/a1.bak', url = 's3://store/shop/a2.bak', url = 's3://store/shop/a3.bak'
GO
backup log shop to url = 's3://store/shop/l1.trn', url = 's3://store/shop/broken.trn'
GO
restore headeronly from url = 's3://store/shop/l1.trn'
GO
-- The log of the one that failed is in the next.
insert shop.dbo.item values (3, N'washer')
backup log shop to url = 's3://store/shop/l1.trn'
backup database shop to url = 's3://store/shop/d.bak' mirror to url = 's3://store/shop/e.bak' with format, differential
GO
select database_name, type, position, f.family_sequence_number as family, physical_device_name, device_type, mirror
    from msdb.dbo.backupset s join msdb.dbo.backupmediafamily f on f.media_set_id = s.media_set_id order by backup_set_id, mirror, family_sequence_number
GO
-- Back, from each.
restore verifyonly from url = 's3://store/shop/full.bak'
GO
create table #label (a sysname null, media uniqueidentifier, families int, number int, family uniqueidentifier, b int, c tinyint, d nvarchar(255), software nvarchar(128), e int, f datetime, g int, h bit)
insert #label exec ('restore labelonly from url = ''s3://store/shop/a2.bak''')
select families, number, iif(media = family, 1, 0) as one, software, e, f from #label
GO
restore filelistonly from url = 's3://store/shop/missing.bak'
GO
restore database copy from url = 's3://store/shop/a3.bak', url = 's3://store/shop/a1.bak'
GO
declare @url nvarchar(200) = 's3://store/shop/a1.bak'
restore database copy from url = 's3://store/shop/a3.bak', url = @url, url = 's3://store/shop/a2.bak' with norecovery, restore_options = '{"s3": {"region": "us-east-1"}}'
restore log copy from url = 's3://store/shop/l1.trn' with recovery
select id, name from copy.dbo.item order by id
GO
-- It takes ALTER ANY CREDENTIAL besides.
create login ann with password = 'A-password-1'
GO
use shop
create user ann for login ann
alter role db_backupoperator add member ann
execute as login = 'ann'
backup database shop to url = 's3://store/shop/ann.bak'
GO
revert
use master
grant alter any credential to ann
execute as login = 'ann'
backup database shop to url = 's3://store/shop/ann.bak' with copy_only
revert
GO
