//! Maps points through frames that are rotated, skewed or in perspective.
//!
//! Other frames are mapped into their parent by an offset and a scale, which the observer knows. Here the browser is
//! asked for the content quad of the owner element, and points are mapped by its homography. Quads are in the
//! coordinates of the session's root frame.

use super::{ObserveError, TabObservation, World};
use cdp::Deadline;
use cdp::protocol::dom::GetBoxModel;
use page::ax::Tree;

type Point = (f64, f64);

/// A projective map of the plane, row by row.
#[derive(Clone, Copy, Debug)]
struct Homography([f64; 9]);

impl Homography {
    /// The map from a rectangle at the origin to a quad, corner by corner, clockwise from the top left.
    fn of(width: f64, height: f64, quad: &[f64; 8]) -> Option<Self> {
        let [x0, y0, x1, y1, x2, y2, x3, y3] = *quad;
        let (dx1, dx2, sx) = (x1 - x2, x3 - x2, x0 - x1 + x2 - x3);
        let (dy1, dy2, sy) = (y1 - y2, y3 - y2, y0 - y1 + y2 - y3);
        let area = dx1 * dy2 - dx2 * dy1;
        if width <= 0.0 || height <= 0.0 || area.abs() < 1e-9 {
            return None;
        }
        let (g, h) = ((sx * dy2 - dx2 * sy) / area, (dx1 * sy - sx * dy1) / area);
        // The map of the unit square, after scaling the rectangle to it.
        let (a, b, d, e) = (x1 - x0 + g * x1, x3 - x0 + h * x3, y1 - y0 + g * y1, y3 - y0 + h * y3);
        Some(Self([
            a / width,
            b / height,
            x0,
            d / width,
            e / height,
            y0,
            g / width,
            h / height,
            1.0,
        ]))
    }

    fn map(&self, (x, y): Point) -> Option<Point> {
        let [a, b, c, d, e, f, g, h, i] = self.0;
        let depth = g * x + h * y + i;
        (depth.abs() > 1e-12).then(|| ((a * x + b * y + c) / depth, (d * x + e * y + f) / depth))
    }

    fn inverse(&self) -> Self {
        let [a, b, c, d, e, f, g, h, i] = self.0;
        // Up to a scalar factor.
        Self([
            e * i - f * h,
            c * h - b * i,
            b * f - c * e,
            f * g - d * i,
            a * i - c * g,
            c * d - a * f,
            d * h - e * g,
            b * g - a * h,
            a * e - b * d,
        ])
    }
}

/// The map from a frame's document to the root frame of its owner element's session.
async fn frame_homography(
    observation: &TabObservation,
    tree: &Tree,
    frame: u16,
    deadline: Deadline,
) -> Result<Homography, ObserveError> {
    let nothing = || ObserveError::Nothing;
    let inner = tree.frames.get(usize::from(frame)).ok_or_else(nothing)?;
    let world = observation.world_of(&inner.document).ok_or_else(nothing)?;
    let outer = parent_world(observation, tree, frame).ok_or_else(nothing)?;
    let owner = observation.owners.get(&world.frame_id).copied().ok_or_else(nothing)?;
    let (width, height): (f64, f64) = world.ask("[innerWidth, innerHeight]", deadline).await?;
    let model = GetBoxModel { backend_node_id: Some(owner) };
    let reply = outer.channel.call(model, deadline).await?;
    let quad = reply.model.and_then(|model| model.content).ok_or_else(nothing)?;
    let quad: [f64; 8] = quad.try_into().map_err(|_| ObserveError::Nothing)?;
    Homography::of(width, height, &quad).ok_or_else(nothing)
}

/// The isolated world of the parent document.
fn parent_world<'s>(observation: &'s TabObservation, tree: &Tree, frame: u16) -> Option<&'s World> {
    let parent = tree.frames.get(usize::from(frame))?.parent?;
    observation.world_of(&tree.frames.get(usize::from(parent))?.document)
}

/// The parent frame, if it is not the root of its session.
fn inner_parent(observation: &TabObservation, tree: &Tree, frame: u16) -> Option<u16> {
    let parent = tree.frames.get(usize::from(frame))?.parent?;
    let world = observation.world_of(&tree.frames.get(usize::from(parent))?.document)?;
    let outer = parent_world(observation, tree, parent)?;
    (outer.channel.session() == world.channel.session()).then_some(parent)
}

/// Maps a point of a frame's document to the parent document.
pub(crate) async fn outward(
    observation: &TabObservation,
    tree: &Tree,
    frame: u16,
    point: Point,
    deadline: Deadline,
) -> Result<Point, ObserveError> {
    let map = frame_homography(observation, tree, frame, deadline).await?;
    let at = map.map(point).ok_or(ObserveError::Nothing)?;
    match inner_parent(observation, tree, frame) {
        Some(parent) => {
            let outer = frame_homography(observation, tree, parent, deadline).await?;
            outer.inverse().map(at).ok_or(ObserveError::Nothing)
        }
        None => Ok(at),
    }
}

/// Maps a point of the parent document to the frame's document.
pub(crate) async fn inward(
    observation: &TabObservation,
    tree: &Tree,
    frame: u16,
    mut point: Point,
    deadline: Deadline,
) -> Result<Point, ObserveError> {
    if let Some(parent) = inner_parent(observation, tree, frame) {
        let outer = frame_homography(observation, tree, parent, deadline).await?;
        point = outer.map(point).ok_or(ObserveError::Nothing)?;
    }
    let map = frame_homography(observation, tree, frame, deadline).await?;
    map.inverse().map(point).ok_or(ObserveError::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(one: Point, other: Point) -> bool {
        (one.0 - other.0).abs() < 1e-6 && (one.1 - other.1).abs() < 1e-6
    }

    #[test]
    fn homography_maps_corners_to_the_quad_and_back() {
        for quad in [
            [10.0, 20.0, 210.0, 20.0, 210.0, 120.0, 10.0, 120.0],
            [0.0, 0.0, 100.0, 50.0, 75.0, 100.0, -25.0, 50.0],
            [30.0, 10.0, 170.0, 40.0, 180.0, 190.0, 20.0, 230.0],
        ] {
            let map = Homography::of(200.0, 100.0, &quad).unwrap();
            let corners = [(0.0, 0.0), (200.0, 0.0), (200.0, 100.0), (0.0, 100.0)];
            for (corner, at) in corners.into_iter().zip(quad.chunks(2)) {
                let there = map.map(corner).unwrap();
                assert!(is_near(there, (at[0], at[1])), "{corner:?} {there:?}");
                assert!(is_near(map.inverse().map(there).unwrap(), corner));
            }
            let inside = map.map((50.0, 25.0)).unwrap();
            assert!(is_near(map.inverse().map(inside).unwrap(), (50.0, 25.0)));
        }
        assert!(Homography::of(0.0, 10.0, &[0.0; 8]).is_none());
        assert!(Homography::of(10.0, 10.0, &[0.0; 8]).is_none());
    }
}
