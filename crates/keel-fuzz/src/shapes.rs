//! Values of `geometry`, `geography` and `hierarchyid`: text, well-known binary and the product's bytes, and everything that
//! their methods do with what was read.

use keel_spatial::planar::{self, Relation, SetOp};
use keel_spatial::{Instance, Kind, Shape, clr, geodetic, wkb, wkt};
use keel_types::hierarchyid::Path;

const KINDS: u8 = 5;

/// Valid inputs: every shape in every form.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = [
        "POINT (1 2 3 4)",
        "LINESTRING (0 0, 1 1, 2 0, 0 0)",
        "POLYGON ((0 0, 3 0, 3 3, 0 3, 0 0), (1 1, 2 1, 2 2, 1 1))",
        "MULTIPOINT ((1 2), EMPTY, (3 4))",
        "MULTIPOLYGON (((0 0, 3 0, 3 3, 0 0)), ((5 5, 6 5, 6 6, 5 5)))",
        "GEOMETRYCOLLECTION (POINT (1 1), LINESTRING (-170 80, 170 -80), POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0)))",
    ]
    .into_iter()
    .flat_map(|text| {
        let shape = wkt::parse(text, Kind::Geography).expect("a shape");
        let marks = clr::Marks { valid: true, large: false };
        let bytes = |kind| clr::write(&Instance { srid: 4326, shape: shape.clone() }, kind, marks);
        [
            super::with_kind(0, text.as_bytes()),
            super::with_kind(1, &bytes(Kind::Geometry)),
            super::with_kind(2, &bytes(Kind::Geography)),
            super::with_kind(3, &wkb::write(&shape, true)),
        ]
    })
    .collect();
    let path = Path::parse("/1/2.1/-9/6000/").ok().and_then(|p| p.bytes()).expect("a path");
    seeds.push(super::with_kind(4, &path));
    seeds
}

/// What is read is written to what reads as the same; no method fails but with an error.
pub fn run(bytes: &[u8]) {
    let Some((kind, body)) = super::split_kind(bytes, KINDS) else { return };
    let text = || String::from_utf8_lossy(body).into_owned();
    match kind {
        0 => {
            for kind in [Kind::Geometry, Kind::Geography] {
                if let Ok(instance) =
                    wkt::parse(&text(), kind).and_then(|s| Instance::new(kind, s, kind.default_srid()))
                {
                    let again =
                        wkt::parse(&wkt::write(&instance.shape, true), kind).expect("what was written");
                    assert_eq!(again, instance.shape);
                    use_it(kind, &instance);
                }
            }
        }
        1 | 2 => {
            let kind = if kind == 1 { Kind::Geometry } else { Kind::Geography };
            if let Ok((instance, marks)) = clr::read(body, kind) {
                let again = clr::read(&clr::write(&instance, kind, marks), kind).expect("what was written");
                assert_eq!(again.0, instance);
                use_it(kind, &instance);
            }
        }
        3 => {
            if let Ok(instance) = wkb::parse(body).and_then(|s| Instance::new(Kind::Geometry, s, 0)) {
                use_it(Kind::Geometry, &instance);
            }
        }
        _ => {
            if let Ok(path) = Path::from_bytes(body) {
                assert_eq!(path.bytes().as_deref(), Some(body));
                assert_eq!(Path::parse(&path.to_string()).expect("what was written"), path);
            }
        }
    }
}

fn use_it(kind: Kind, instance: &Instance) {
    let shape = &instance.shape;
    if shape.positions().len() > 200 {
        return;
    }
    let other = wkt::parse("POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))", kind).expect("a shape");
    let _ = (wkb::write(shape, true), shape.is_closed(), shape.dimension(), shape.reoriented());
    let made = if kind == Kind::Geometry { planar::make_valid(shape) } else { shape.clone() };
    if !(Instance { srid: 0, shape: made.clone() }).marks(kind).valid {
        return;
    }
    let shape = &made;
    let relations = [Relation::Intersects, Relation::Contains, Relation::Overlaps, Relation::Equals];
    let ops = [SetOp::Union, SetOp::Intersection, SetOp::Difference, SetOp::SymDifference];
    match kind {
        Kind::Geometry => on_plane(shape, &other, &relations, &ops),
        Kind::Geography => {
            let _ = (geodetic::length(shape), geodetic::area(shape), geodetic::angle(shape));
            let _ = (geodetic::distance(shape, &other), geodetic::convex_hull(shape));
            let _ = (geodetic::buffer(shape, 100.0), geodetic::reduce(shape, 10.0));
            for relation in relations {
                let _ = geodetic::relates(shape, &other, relation);
            }
            for op in ops {
                let _ = geodetic::combine(shape, &other, op);
            }
        }
    }
}

fn on_plane(shape: &Shape, other: &Shape, relations: &[Relation], ops: &[SetOp]) {
    let _ = (planar::is_valid(shape), planar::make_valid(shape), planar::length(shape), planar::area(shape));
    let _ = (planar::centroid(shape), planar::inner_point(shape), planar::convex_hull(shape));
    let _ = (planar::envelope(shape), planar::boundary(shape), planar::is_simple(shape));
    let _ = (planar::buffer(shape, 1.0), planar::buffer(shape, -1.0), planar::reduce(shape, 0.5));
    let _ = (planar::distance(shape, other), planar::relates_as(shape, other, "T*F**F***"));
    for relation in relations {
        let _ = planar::relates(shape, other, *relation);
    }
    for op in ops {
        let _ = planar::combine(shape, other, *op);
    }
}
