-- An instance that is no failover cluster instance says so.
select serverproperty('IsClustered') as c, serverproperty('ComputerNamePhysicalNetBIOS') as n
select * from sys.dm_os_cluster_nodes
select * from sys.fn_virtualservernodes()
select * from sys.dm_keel_cluster_nodes
exec sp_keel_possible_owners 'a, b'
exec sys.sp_keel_move_instance
exec sp_keel_possible_owners
GO
