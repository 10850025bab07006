-- Catalog views of SQL Server 2000, by the names that older applications use: constraints, keys, files, roles, messages.
create table parent (a int not null, b int not null, c int constraint uq_parent unique, constraint pk_parent primary key (a, b))
create table child (id int not null constraint pk_child primary key, x int not null, y int not null constraint df_child default 7,
  z int constraint ck_child check (z > 0), constraint fk_child foreign key (x, y) references parent (a, b), constraint ck_both check (x < y))
go
select object_name(constid) as name, object_name(id) as owner, colid, status & 15 as kind, status & 48 as reach from sysconstraints order by 1
select object_name(constid) as name, object_name(fkeyid) as child, object_name(rkeyid) as parent, col_name(fkeyid, fkey) as own, col_name(rkeyid, rkey) as other, keyno
from sysforeignkeys order by keyno
select object_name(constid) as name, rkeyindid, keycnt, forkeys, refkeys, fkey1, fkey2, fkey3, rkey1, rkey2, rkey16 from dbo.sysreferences
select object_name(id) as owner, indid, col_name(id, colid) as name, keyno from sysindexkeys where id in (object_id('parent'), object_id('child')) order by id, indid, keyno
go
create role clerks
create user joe without login
alter role clerks add member joe
select user_name(memberuid) as member, user_name(groupuid) as role from sysmembers where groupuid = user_id('clerks')
select groupname, groupid, status from sysfilegroups
select fileid, groupid, status, name from master.dbo.sysaltfiles where dbid = db_id('master') order by fileid
select error, severity, dlevel, description, msglangid from master..sysmessages where error = 8134
go
drop table child
drop table parent
drop user joe
drop role clerks
go
