-- geometry and geography: text and binary in and out, parts, measures, relations, set operations, and what is refused.
select geography::Point(47.65100, -122.34900, 4326) as bytes, geography::Point(47.651, -122.349, 4326).ToString() as shown,
    geometry::Parse('POINT EMPTY') as empty, cast('LINESTRING(0 0, 1 2)' as geometry) as line, geography::STGeomFromText('FULLGLOBE', 4326) as globe
go
declare @g geography = geography::STGeomFromText('POINT(-122.34900 47.65100 7 8)', 4326), @n geography
select @g.Lat as lat, @g.Long as long, @g.Z as z, @g.M as m, @g.STSrid as srid, @g.HasZ as hasz, @g.STAsText() as text, @g.AsTextZM() as zm,
    @g.STAsBinary() as wkb, @g.STGeometryType() as type, @g.STDimension() as dimension, @n.Lat as none, @n.STAsText() as nothing
go
declare @p geometry = 'POLYGON ((0 0, 3 0, 3 3, 0 3, 0 0), (1 1, 1 2, 2 2, 2 1, 1 1))'
select @p.STArea() as area, @p.STLength() as around, @p.STNumPoints() as points, @p.STNumInteriorRing() as holes,
    @p.STExteriorRing().ToString() as outer_ring, @p.STInteriorRingN(1).ToString() as hole, @p.STPointN(2).ToString() as second,
    @p.STCentroid().ToString() as centroid, @p.STEnvelope().ToString() as envelope, @p.STIsValid() as valid, @p.STIsEmpty() as empty,
    @p.STBoundary().STGeometryType() as boundary, @p.InstanceOf('Surface') as surface
go
declare @a geometry = 'POLYGON ((0 0, 3 0, 3 3, 0 3, 0 0))', @b geometry = 'POLYGON ((2 2, 5 2, 5 5, 2 5, 2 2))', @l geometry = 'LINESTRING (1 1, 5 1)'
select @a.STIntersects(@b) i, @a.STContains(@b) c, @a.STOverlaps(@b) o, @a.STTouches(@b) t, @a.STDisjoint(@b) d, @l.STCrosses(@a) x,
    @a.STEquals('POLYGON ((3 3, 0 3, 0 0, 3 0, 3 3))') e, @a.STDistance(geometry::Point(0, 7, 0)) as far, @a.STRelate(@l, 'T********') r
select @a.STUnion(@b).STArea() u, @a.STIntersection(@b).ToString() i, @a.STDifference(@b).STArea() d, @a.STSymDifference(@b).STNumGeometries() s,
    @l.STIntersection(@a).ToString() l, @l.STDifference(@a).ToString() k, @a.STConvexHull().STArea() h, @l.STBuffer(1).STContains(@l) b
go
declare @seattle geography = geography::Point(47.6097, -122.3331, 4326), @portland geography = geography::Point(45.5231, -122.6765, 4326)
declare @county geography = 'POLYGON((-123 47, -121 47, -121 48, -123 48, -123 47))'
select round(@seattle.STDistance(@portland), 0) as metres, @county.STContains(@seattle) as inside, @county.STIntersects(@portland) as outside,
    round(@county.STArea() / 1e6, 0) as km2, @county.ReorientObject().STArea() / 1e12 as rest, round(@county.STDistance(@portland), -2) as to_it,
    @county.EnvelopeCenter().Lat as middle, @county.NumRings() as rings, @seattle.STBuffer(1000).STIntersects(@portland) as near
go
create table places (id int primary key, at geography null, lat as at.Lat, area geometry, constraint srid check (at.STSrid = 4326))
insert places (id, at, area) values (1, geography::Point(52.52, 13.405, 4326), geometry::Point(1, 2, 0)), (2, 'POINT(2.3522 48.8566)', null), (3, null, 0x00000000010C000000000000F03F0000000000000040)
go
select id, at.Lat as latitude, p.at.Long as longitude, lat, p.area.STX as x, area.STAsText() as area from places as p order by id
select a.id, b.id, round(a.at.STDistance(b.at) / 1000, 0) as km from places a join places b on a.id < b.id where a.at.STDistance(b.at) is not null
select count(*) from places where at.STIntersects(geography::Point(52.52, 13.405, 4326)) = 1
update places set at = geography::Point(at.Lat + 1, at.Long, at.STSrid) where id = 1
select at.ToString() from places where id = 1
go
insert places (id, at) values (4, geography::Point(1, 2, 4267))
go
select c.name, c.max_length, t.name, t.is_assembly_type from sys.columns c join sys.types t on t.user_type_id = c.user_type_id where c.object_id = object_id('places') and t.system_type_id = 240
go
drop table places
go
declare @g geometry = geometry::STGeomFromText('POINT(1 1)', 1), @h geometry = geometry::STGeomFromText('POINT(1 1)', 2)
select @g.STEquals(@h) as different_srid, @g.STDistance(@h) as far
go
select geometry::Parse('FOO (1 2)')
go
select geometry::Parse('POINT (1')
go
select geometry::Parse('')
go
select geometry::Parse('LINESTRING (1 1)')
go
select geometry::Parse('POLYGON ((0 0, 1 1, 2 0, 0 1))')
go
select geography::Point(91, 0, 4326)
go
select geography::Point(1, 0, 1)
go
select geometry::STPointFromText('LINESTRING (0 0, 1 1)', 0)
go
select cast(0x0102 as geography)
go
select geometry::Point(1, 2)
go
declare @g geometry = 'POINT (1 1)'
select @g.Lat
go
declare @g geography = 'POINT (1 1)'
select @g.STTouches(@g)
go
select geometry::Nothing('x')
go
select try_convert(geometry, 'x') as none, geometry::Parse('POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))').STIsValid() as bow, geometry::Parse('POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))').MakeValid().STIsValid() as mended
go
declare @bow geometry = 'POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))'
select @bow.STLength() as length, @bow.STAsText() as text, @bow.STIsEmpty() as empty
select @bow.STArea() as area
go
select geography::Parse('LINESTRING(0 0, 180 0)')
go
select geography::Parse('POLYGON((0 0, 1 1, 0 0))')
go
select geometry::Parse('POINT(0 0)').STRelate(geometry::Parse('POINT(0 0)'), 'T*')
go
select geometry::Parse('POINT(0 0)').STRelate(geometry::Parse('POINT(0 0)'), '3********')
go
