//! The products of the shop: one table for the pages, the cart and the CSV file.
//! Prices are whole cents and ratings whole tenths, so nothing is rounded.

pub(super) const GIFT_WRAP_CENTS: u32 = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    Plants,
    Tea,
    Trail,
}

#[derive(Debug)]
pub(super) struct Product {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) category: Category,
    /// Price of the first size.
    pub(super) cents: u32,
    pub(super) rating_tenths: u32,
    pub(super) review_count: u32,
    pub(super) blurb: &'static str,
    pub(super) detail: &'static str,
    /// Label, and surcharge on `cents`.
    pub(super) sizes: [(&'static str, u32); 3],
    /// Text and author.
    pub(super) reviews: [(&'static str, &'static str); 2],
    /// An inline SVG drawing.
    pub(super) art: &'static str,
}

impl Category {
    /// Name in HTML, styles and filters.
    pub(super) fn id(self) -> &'static str {
        match self {
            Category::Plants => "plants",
            Category::Tea => "tea",
            Category::Trail => "trail",
        }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Category::Plants => "Plants",
            Category::Tea => "Tea",
            Category::Trail => "Trail",
        }
    }
}

impl Product {
    pub(super) fn rating(&self) -> String {
        format!("{}.{}", self.rating_tenths / 10, self.rating_tenths % 10)
    }
}

pub(super) fn find(id: &str) -> Option<&'static Product> {
    PRODUCTS.iter().find(|product| product.id == id)
}

pub(super) fn dollars(cents: u32) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// The catalogue as a downloadable file.
pub(super) fn csv() -> String {
    let rows = PRODUCTS.iter().map(|product| {
        format!(
            "{},{},{},{},{}\n",
            product.id,
            product.name,
            product.category.id(),
            dollars(product.cents),
            product.rating(),
        )
    });
    std::iter::once("id,name,category,price,rating\n".to_string()).chain(rows).collect()
}

pub(super) static PRODUCTS: [Product; 12] = [
    Product {
        id: "camp-kettle",
        name: "Camp Kettle",
        category: Category::Tea,
        cents: 5800,
        rating_tenths: 49,
        review_count: 312,
        blurb: "Enamelled steel, happy on a stove or a campfire.",
        detail: "Two coats of speckled enamel over heavy steel, a beech grip that stays \
                 cool, and a spout that pours without a drip. It whistles when asked to and \
                 keeps quiet at dawn.",
        sizes: [("1 litre", 0), ("1.5 litre", 1000), ("2 litre", 1800)],
        reviews: [
            ("Survived a fall off a tailgate and three winters.", "Marit O."),
            ("The pour is so clean it feels rude.", "Devon P."),
        ],
        art: site!("art/camp-kettle.svg"),
    },
    Product {
        id: "clay-pots",
        name: "Terracotta Trio",
        category: Category::Plants,
        cents: 2800,
        rating_tenths: 47,
        review_count: 188,
        blurb: "Three hand-thrown pots that breathe with their roots.",
        detail: "Low-fired clay from a single pit, thrown in three sizes that nest for the \
                 winter. Saucers are included, and so is the small thumb mark of whoever \
                 made them.",
        sizes: [("Windowsill", 0), ("Balcony", 1400), ("Garden", 3200)],
        reviews: [
            ("My basil has stopped sulking.", "Ines R."),
            ("Lovely colour, lovelier once it has some moss.", "Tomas K."),
        ],
        art: site!("art/clay-pots.svg"),
    },
    Product {
        id: "waxed-rucksack",
        name: "Waxed Day Rucksack",
        category: Category::Trail,
        cents: 12800,
        rating_tenths: 48,
        review_count: 241,
        blurb: "Dry-waxed canvas, bridle leather, no zips to fail.",
        detail: "Canvas waxed by hand, straps cut from one hide, buckles cast in sand. Room \
                 for a jacket, a flask and a book you will actually read.",
        sizes: [("18 litre", 0), ("24 litre", 1800), ("32 litre", 3600)],
        reviews: [
            ("Caught in a hailstorm. The sandwich stayed dry.", "Freya L."),
            ("Looks better every month.", "Sam W."),
        ],
        art: site!("art/waxed-rucksack.svg"),
    },
    Product {
        id: "meadow-oolong",
        name: "High Meadow Oolong",
        category: Category::Tea,
        cents: 2400,
        rating_tenths: 46,
        review_count: 97,
        blurb: "Half-rolled spring leaf with apricot and warm grass.",
        detail: "Picked once a year above the cloud line, rolled eleven times and rested \
                 for a month. Good for five infusions; the third is the one to wait for.",
        sizes: [("50 g", 0), ("100 g", 2000), ("250 g", 6600)],
        reviews: [
            ("The third cup. They were right about the third cup.", "Aiko T."),
            ("Soft and bright. I hide it from guests.", "Noor B."),
        ],
        art: site!("art/meadow-oolong.svg"),
    },
    Product {
        id: "brass-mister",
        name: "Brass Plant Mister",
        category: Category::Plants,
        cents: 3400,
        rating_tenths: 45,
        review_count: 164,
        blurb: "A fine, even mist for ferns that like to be fussed over.",
        detail: "Spun brass with a turned nozzle and a leather washer you can replace with \
                 a coin and five minutes. It will darken with the years; we think it \
                 should.",
        sizes: [("250 ml", 0), ("400 ml", 800), ("600 ml", 1500)],
        reviews: [
            ("Finally a mister that mists.", "Lena H."),
            ("My maidenhair fern is alive. That says everything.", "Oskar D."),
        ],
        art: site!("art/brass-mister.svg"),
    },
    Product {
        id: "trail-lantern",
        name: "Folding Trail Lantern",
        category: Category::Trail,
        cents: 4800,
        rating_tenths: 47,
        review_count: 133,
        blurb: "Packs flat, burns nine hours, lights a whole clearing.",
        detail: "A tin lantern after a forester's pattern from a hundred years ago, with \
                 mica panes that will not shatter. Takes our beeswax candles or any stub \
                 you have left.",
        sizes: [("Pocket", 0), ("Camp", 1200), ("Cabin", 2600)],
        reviews: [
            ("The light is the colour of late August.", "Priya S."),
            ("Folds up smaller than my map.", "Jonas E."),
        ],
        art: site!("art/trail-lantern.svg"),
    },
    Product {
        id: "stone-cup",
        name: "Stoneware Cup",
        category: Category::Tea,
        cents: 2200,
        rating_tenths: 48,
        review_count: 275,
        blurb: "Thick-walled, banded in lake blue, made for two hands.",
        detail: "Wood-fired for three days with a band of ash-and-cobalt glaze. No two \
                 bands meet quite the same way, and all of them fit a cold thumb.",
        sizes: [("Small", 0), ("Medium", 400), ("Large", 800)],
        reviews: [
            ("Keeps tea hot through a whole phone call.", "Bea M."),
            ("Bought one. Then four.", "Callum F."),
        ],
        art: site!("art/stone-cup.svg"),
    },
    Product {
        id: "ridge-blanket",
        name: "Ridge Wool Blanket",
        category: Category::Trail,
        cents: 9600,
        rating_tenths: 49,
        review_count: 208,
        blurb: "Heavy lambswool, striped like hills one behind another.",
        detail: "Woven on a mill loom older than the road to it, then washed in soft water \
                 until it gives up being scratchy. Comes with a leather carrying strap.",
        sizes: [("Lap", 0), ("Single", 3800), ("Double", 7400)],
        reviews: [
            ("The dog has claimed it. I understand.", "Ruth A."),
            ("Warm when damp, handsome when dry.", "Elias N."),
        ],
        art: site!("art/ridge-blanket.svg"),
    },
    Product {
        id: "meadow-seeds",
        name: "Meadow Seed Tin",
        category: Category::Plants,
        cents: 1600,
        rating_tenths: 43,
        review_count: 89,
        blurb: "Thirty wild flowers for bees, moths and bare corners.",
        detail: "Seed gathered by hand from old hay meadows and mixed for a long season of \
                 bloom. Scatter in autumn, step on it once, then leave it alone.",
        sizes: [("2 m²", 0), ("5 m²", 900), ("10 m²", 1600)],
        reviews: [
            ("Second summer and the verge is humming.", "Hanne V."),
            ("The tin now holds buttons, as is proper.", "Gil C."),
        ],
        art: site!("art/meadow-seeds.svg"),
    },
    Product {
        id: "field-notebook",
        name: "Field Notebook",
        category: Category::Trail,
        cents: 1200,
        rating_tenths: 44,
        review_count: 351,
        blurb: "Stone paper that takes a pencil in the rain.",
        detail: "Ninety-six dotted pages, sewn so it lies flat on a knee, with an elastic \
                 band, a pencil loop and a pressed-leaf pocket at the back.",
        sizes: [("A6", 0), ("A5", 500), ("A4", 1100)],
        reviews: [
            ("Dropped it in a stream. Kept writing.", "Wren J."),
            ("The leaf pocket is full already.", "Mateo G."),
        ],
        art: site!("art/field-notebook.svg"),
    },
    Product {
        id: "pine-smoke",
        name: "Pine Smoke Tea",
        category: Category::Tea,
        cents: 1800,
        rating_tenths: 42,
        review_count: 121,
        blurb: "Black tea dried over pine embers. Campfire in a cup.",
        detail: "A big-leaf black tea hung above smouldering pine root for one long night. \
                 Wonderful with milk, better with rain on the window.",
        sizes: [("50 g", 0), ("100 g", 1500), ("250 g", 5000)],
        reviews: [
            ("Tastes like my favourite jumper.", "Agnes Y."),
            ("Divides the household. I am on the right side.", "Theo Z."),
        ],
        art: site!("art/pine-smoke.svg"),
    },
    Product {
        id: "garden-snips",
        name: "Garden Snips",
        category: Category::Plants,
        cents: 4200,
        rating_tenths: 46,
        review_count: 76,
        blurb: "Carbon-steel blades with a bite like a crisp apple.",
        detail: "Forged in pairs and filed to each other, so they only ever fit their twin. \
                 Send them back in January and we sharpen them while the garden sleeps.",
        sizes: [("Herb", 0), ("Flower", 600), ("Rose", 1300)],
        reviews: [
            ("Deadheading has become a hobby.", "Mina Q."),
            ("Sharp, quiet, beautiful.", "Per U."),
        ],
        art: site!("art/garden-snips.svg"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_shown_with_cents() {
        assert_eq!(dollars(5800), "$58.00");
        assert_eq!(dollars(5), "$0.05");
    }

    #[test]
    fn csv_has_a_row_per_product() {
        assert_eq!(csv().lines().count(), PRODUCTS.len() + 1);
        assert!(csv().lines().all(|line| line.split(',').count() == 5));
    }

    #[test]
    fn ids_are_unique() {
        for product in &PRODUCTS {
            assert!(std::ptr::eq(find(product.id).expect("listed"), product));
        }
    }
}
