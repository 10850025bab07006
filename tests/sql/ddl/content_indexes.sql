-- XML and spatial indexes: checked and shown; they hold nothing.
create table t (id int not null, x xml, g geography, p geometry, n int)
go
create primary xml index px on t(x)
go
create spatial index sg on t(g)
go
alter table t add constraint pk primary key clustered (id)
create primary xml index px on t(x)
create xml index sx on t(x) using xml index px for path
create xml index vx on t(x) using xml index px for value with (pad_index = on)
create spatial index sg on t(g)
create spatial index sg2 on t(g) using geography_grid with (grids = (low, low, high, medium), cells_per_object = 64, pad_index = on)
create spatial index sp on t(p) with (bounding_box = (0, -1.5, 500, 200))
create spatial index sp2 on t(p) using geometry_grid with (bounding_box = (xmin = 0, ymin = 0, xmax = 5, ymax = 2), grids = (level_1 = high, level_4 = low))
go
select name, index_id, type, type_desc, is_unique, has_filter from sys.indexes where object_id = object_id('t') order by index_id
select name, using_xml_index_id, secondary_type, secondary_type_desc, xml_index_type_description from sys.xml_indexes
select name, spatial_index_type_desc, tessellation_scheme from sys.spatial_indexes
select index_id, tessellation_scheme, bounding_box_xmin, bounding_box_ymin, bounding_box_xmax, bounding_box_ymax, level_1_grid_desc, level_2_grid, level_3_grid_desc, level_4_grid_desc, cells_per_object from sys.spatial_index_tessellations
select i.name, c.name from sys.index_columns ic join sys.indexes i on i.object_id = ic.object_id and i.index_id = ic.index_id join sys.columns c on c.object_id = ic.object_id and c.column_id = ic.column_id where ic.object_id = object_id('t')
select name, assembly_class, is_binary_ordered from sys.assembly_types
go
insert t values (1, '<a/>', 'POINT(1 2)', 'POINT(3 4)', 5)
select x.exist('/a') as a, g.Lat as lat, p.STX as x from t where g.STIntersects('POINT(1 2)') = 1
go
create primary xml index px2 on t(x)
go
create primary xml index pn on t(n)
go
create xml index sx on t(x) using xml index px for path
go
create xml index s2 on t(x)
go
create xml index s2 on t(x) using xml index nothing for path
go
create spatial index s2 on t(n)
go
create spatial index s2 on t(p)
go
create spatial index s2 on t(g) using geometry_grid
go
create spatial index s2 on t(p) with (bounding_box = (0, 1, 2))
go
create primary xml index s2 on t(nothing)
go
alter table t drop column x
go
alter index px on t rebuild
drop index px on t
drop index sg on t
select name from sys.indexes where object_id = object_id('t') order by name
go
drop index sg on t
go
drop table t
go
select serverproperty('ResourceLastUpdateDateTime') as built
go
