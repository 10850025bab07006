-- Backups to Azure's storage: signatures and keys, what blobs may be like, and back from each.
create database shop
GO
alter database shop set recovery full
GO
create table shop.dbo.item (id int primary key, name nvarchar(40))
insert shop.dbo.item values (1, N'bolt'), (2, N'nut')
GO
-- There has to be a credential whose name begins the URL, with a signature.
backup database shop to url = N'https://store.blob.core.windows.net/shop/full.bak'
GO
create credential [https://store.blob.core.windows.net/shop] with identity = 'S3 Access Key', secret = 'AKID:right'
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/full.bak'
GO
alter credential [https://store.blob.core.windows.net/shop] with identity = 'Managed Identity'
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/full.bak'
GO
alter credential [https://store.blob.core.windows.net/shop] with identity = 'SHARED ACCESS SIGNATURE', secret = 'cmlnaHQ='
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/full.bak'
GO
alter credential [https://store.blob.core.windows.net/shop] with identity = 'SHARED ACCESS SIGNATURE', secret = 'sv=1&sig=wrong'
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/full.bak'
GO
alter credential [https://store.blob.core.windows.net/shop] with identity = 'Shared Access Signature', secret = 'sv=1&sig=right'
create credential [https://store.blob.core.windows.net/nothere] with identity = 'SHARED ACCESS SIGNATURE', secret = 'sv=1&sig=right'
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/full.bak' with compression, format, stats = 50, blocksize = 65536, maxtransfersize = 4194304
GO
backup database shop to url = N'https://store.blob.core.windows.net/nothere/full.bak'
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/full.bak'
GO
-- What blocks may be like.
backup database shop to url = N'https://store.blob.core.windows.net/shop/other.bak' with maxtransfersize = 100000
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/other.bak' with maxtransfersize = 20971520
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/other.bak' with blocksize = 5000
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/other.bak' with blocksize = 131072
GO
-- WITH CREDENTIAL is for keys of accounts.
backup database shop to url = N'https://store.blob.core.windows.net/shop/older.bak' with credential = 'https://store.blob.core.windows.net/shop'
GO
create credential older with identity = 'store', secret = 'cmlnaHQ='
create credential wrong with identity = 'store', secret = 'd3Jvbmc='
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/older.bak' with credential = 'wrong'
GO
backup database shop to url = N'https://store.blob.core.windows.net/shop/older.bak' with credential = 'older', copy_only
restore verifyonly from url = N'https://store.blob.core.windows.net/shop/older.bak' with credential = 'older'
restore verifyonly from url = N'https://store.blob.core.windows.net/shop/older.bak'
GO
-- Paths that look like URLs, and URLs among disks.
backup database shop to disk = 'https://store.blob.core.windows.net/shop/full.bak'
GO
backup database shop to disk = 'a.bak', url = N'https://store.blob.core.windows.net/shop/a.bak'
GO
-- Several, which are one set, the differences, the log; one that fails takes the others with it.
backup database shop to url = 'https://store.blob.core.windows.net/shop/a1.bak', url = 'https://store.blob.core.windows.net/shop/a2.bak'
insert shop.dbo.item values (3, N'washer')
backup database shop to url = 'https://store.blob.core.windows.net/shop/d.bak' with differential
insert shop.dbo.item values (4, N'screw')
GO
backup log shop to url = 'https://store.blob.core.windows.net/shop/l.trn', url = 'https://store.blob.core.windows.net/shop/broken.trn'
GO
restore headeronly from url = 'https://store.blob.core.windows.net/shop/l.trn'
GO
backup log shop to url = 'https://store.blob.core.windows.net/shop/l.trn'
GO
restore database copy from url = 'https://store.blob.core.windows.net/shop/a2.bak', url = 'https://store.blob.core.windows.net/shop/a1.bak' with norecovery
restore database copy from url = 'https://store.blob.core.windows.net/shop/d.bak' with norecovery
restore log copy from url = 'https://store.blob.core.windows.net/shop/l.trn' with recovery
select id, name from copy.dbo.item order by id
GO
select type, f.family_sequence_number as family, physical_device_name, device_type
    from msdb.dbo.backupset s join msdb.dbo.backupmediafamily f on f.media_set_id = s.media_set_id order by backup_set_id, family_sequence_number
GO
