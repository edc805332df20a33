//! Rendering of all pages of the shop: one function per page, from its data to HTML. The templates are in
//! `crates/app/site`; requests are handled in `routes`.

use super::catalogue::{GIFT_WRAP_CENTS, PRODUCTS, Product, dollars};
use super::state::{Line, PROMO_CODE, Session, Status, Subscription, Survey};
use super::template::{Html, fill, markup, markup_if, text};

const BOX_CENTS: u32 = 2400;
const OFFER_CENTS: u32 = BOX_CENTS * 70 / 100;

/// Reasons for a cancellation: form value and label.
pub(super) static REASONS: [(&str, &str); 5] = [
    ("too-much", "Too much tea"),
    ("too-expensive", "Too expensive"),
    ("not-my-taste", "Not to my taste"),
    ("moving", "I am moving"),
    ("other", "Something else"),
];

pub(super) fn home(session: &Session) -> Html {
    let main = fill(
        site!("pages/home.html"),
        &[
            ("scene", markup(site!("art/hero.svg"))),
            ("count", text(PRODUCTS.len())),
            (
                "cards",
                PRODUCTS.iter().map(|product| show(product, site!("parts/card.html"))).collect(),
            ),
        ],
    );
    page(session, At::Home, "Plants, tea and trail goods", main)
}

pub(super) fn product(session: &Session, product: &Product) -> Html {
    let size = |(index, (label, extra)): (usize, &(&str, u32))| {
        fill(
            site!("parts/size.html"),
            &[
                ("index", text(index)),
                ("label", text(label)),
                ("cents", text(product.cents + extra)),
                ("checked", markup_if(index == 0, " checked")),
            ],
        )
    };
    let review = |(said, author): &(&str, &str)| {
        fill(site!("parts/review.html"), &[("text", text(said)), ("author", text(author))])
    };
    let mut values = facts(product);
    values.extend([
        ("gift_price", text(format!("+{}", dollars(GIFT_WRAP_CENTS)))),
        ("sizes", product.sizes.iter().enumerate().map(size).collect()),
        ("reviews", product.reviews.iter().map(review).collect()),
    ]);
    page(session, At::Product, product.name, fill(site!("pages/product.html"), &values))
}

/// The sign-in form; after a wrong password, with the typed e-mail address and an alert.
pub(super) fn login(session: &Session, next: &str, email: &str, was_refused: bool) -> Html {
    let error = was_refused.then(|| alert("That password is not right. Try again."));
    let main = fill(
        site!("pages/login.html"),
        &[
            ("error", error.unwrap_or_default()),
            ("next", text(next)),
            ("email", text(email)),
            ("invalid", markup_if(was_refused, r#" aria-invalid="true""#)),
        ],
    );
    page(session, At::Login, "Sign in", main)
}

/// The cart; `refused` is an invalid promo code that was just submitted.
pub(super) fn cart(session: &Session, refused: Option<&str>) -> Html {
    let contents = if session.cart.is_empty() {
        markup(site!("parts/cart-empty.html"))
    } else {
        full_cart(session, refused)
    };
    let saved = if session.saved.is_empty() {
        markup(site!("parts/saved-none.html"))
    } else {
        let items =
            session.saved.iter().map(|product| show(product, site!("parts/saved-item.html")));
        fill(site!("parts/saved.html"), &[("items", items.collect())])
    };
    let main = fill(
        site!("pages/cart.html"),
        &[
            ("contents", contents),
            ("saved", saved),
            ("empty_saved", markup_if(!session.saved.is_empty(), site!("parts/empty-saved.html"))),
        ],
    );
    page(session, At::Cart, "Your cart", main)
}

pub(super) fn checkout(session: &Session, frame_origin: &str) -> Html {
    let name = session.email.as_deref().map(display_name).unwrap_or_default();
    let main = fill(
        site!("pages/checkout.html"),
        &[
            ("frame_origin", text(frame_origin)),
            ("name", text(name)),
            ("lines", lines(session, site!("parts/mini-line.html"))),
            ("totals", totals(session)),
        ],
    );
    page(session, At::Checkout, "Checkout", main)
}

/// The card form, served from its own origin; only the given one may embed it.
pub(super) fn card_frame(shop_origin: &str) -> Html {
    fill(site!("pages/card-frame.html"), &[("origin", text(shop_origin))])
}

pub(super) fn subscription(session: &Session, email: &str, subscription: &Subscription) -> Html {
    let price = match subscription.status {
        Status::Active => format!("{} a month", dollars(BOX_CENTS)),
        Status::Discounted => format!("{} a month, 30% off", dollars(OFFER_CENTS)),
        Status::Cancelled => "Nothing is charged".to_string(),
    };
    let note = match subscription.status {
        Status::Active => Html::default(),
        Status::Discounted => notice("Good to have you still. The next six boxes are 30% off."),
        Status::Cancelled => notice("No further box will be sent."),
    };
    let is_cancelled = subscription.status == Status::Cancelled;
    let main = fill(
        site!("pages/subscription.html"),
        &[
            ("art", markup(site!("art/tea-box.svg"))),
            ("badge", markup_if(is_cancelled, "badge-cancelled")),
            ("status", text(if is_cancelled { "Cancelled" } else { "Active" })),
            ("price", text(price)),
            ("email", text(email)),
            ("note", note),
            (
                "action",
                markup(if is_cancelled {
                    site!("parts/subscription-restart.html")
                } else {
                    site!("parts/subscription-cancel.html")
                }),
            ),
        ],
    );
    page(session, At::Subscription, "Your tea box", main)
}

pub(super) fn cancel_offer(session: &Session) -> Html {
    let main = fill(
        site!("pages/cancel-offer.html"),
        &[
            ("steps", steps(1)),
            ("full_price", text(dollars(BOX_CENTS))),
            ("offer_price", text(dollars(OFFER_CENTS))),
        ],
    );
    page(session, At::Subscription, "Before you go", main)
}

pub(super) fn cancel_reason(session: &Session, survey: Option<&Survey>) -> Html {
    let reason = |(value, label): &(&'static str, &str)| {
        let is_chosen = survey.is_some_and(|survey| survey.reason == *value);
        fill(
            site!("parts/reason.html"),
            &[
                ("value", text(value)),
                ("label", text(label)),
                ("checked", markup_if(is_chosen, " checked")),
            ],
        )
    };
    let main = fill(
        site!("pages/cancel-reason.html"),
        &[
            ("steps", steps(2)),
            ("reasons", REASONS.iter().map(reason).collect()),
            ("note", text(survey.map_or("", |survey| survey.note.as_str()))),
        ],
    );
    page(session, At::Subscription, "What made you decide?", main)
}

pub(super) fn cancel_confirm(session: &Session, survey: &Survey) -> Html {
    let reason = REASONS.iter().find(|(value, _)| *value == survey.reason);
    let note = match survey.note.as_str() {
        "" => Html::default(),
        note => fill(site!("parts/cancel-note.html"), &[("note", text(note))]),
    };
    let main = fill(
        site!("pages/cancel-confirm.html"),
        &[
            ("steps", steps(3)),
            ("reason", text(reason.map_or("", |(_, label)| *label))),
            ("note", note),
        ],
    );
    page(session, At::Subscription, "One last check", main)
}

pub(super) fn cancel_done(session: &Session) -> Html {
    page(session, At::Subscription, "Cancelled", markup(site!("pages/cancel-done.html")))
}

pub(super) fn lab(session: &Session) -> Html {
    page(session, At::Lab, "Lab", markup(site!("pages/lab.html")))
}

pub(super) fn not_found(session: &Session, path: &str) -> Html {
    let main = fill(site!("pages/not-found.html"), &[("path", text(path))]);
    page(session, At::Nowhere, "Not found", main)
}

/// `ada.fern@example.com` is shown as "Ada Fern".
pub(super) fn display_name(email: &str) -> String {
    let local = email.split('@').next().unwrap_or(email);
    let words = local.split(['.', '_', '-', '+']).filter(|word| !word.is_empty());
    let capitalised = words.map(|word| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    });
    capitalised.collect::<Vec<_>>().join(" ")
}

/// Section of a page: selects the current link and the script module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Home,
    Product,
    Login,
    Cart,
    Checkout,
    Subscription,
    Lab,
    Nowhere,
}

fn page(session: &Session, at: At, title: &str, main: Html) -> Html {
    let current = |here: At| markup_if(at == here, r#" aria-current="page""#);
    let script = match at {
        At::Home => r#"<script type="module" src="/home.js"></script>"#,
        At::Product => r#"<script type="module" src="/product.js"></script>"#,
        At::Cart => r#"<script type="module" src="/cart.js"></script>"#,
        At::Checkout => r#"<script type="module" src="/checkout.js"></script>"#,
        At::Lab => r#"<script type="module" src="/lab.js"></script>"#,
        At::Login | At::Subscription | At::Nowhere => "",
    };
    let account = match &session.email {
        Some(email) => fill(site!("parts/signed-in.html"), &[("name", text(display_name(email)))]),
        None => fill(site!("parts/signed-out.html"), &[("at_login", current(At::Login))]),
    };
    fill(
        site!("layout.html"),
        &[
            ("title", text(title)),
            ("script", markup(script)),
            ("mark", markup(site!("art/favicon.svg"))),
            ("at_shop", current(At::Home)),
            ("at_subscription", current(At::Subscription)),
            ("at_lab", current(At::Lab)),
            ("at_cart", current(At::Cart)),
            ("account", account),
            ("cart_count", text(session.item_count())),
            ("main", main),
        ],
    )
}

fn full_cart(session: &Session, refused: Option<&str>) -> Html {
    let promo_note = match refused {
        Some(code) => alert(&format!("“{code}” is not one of our codes.")),
        None if session.has_promo => notice(&format!("{PROMO_CODE} takes 10% off.")),
        None => Html::default(),
    };
    let promo = if session.has_promo { PROMO_CODE } else { "" };
    fill(
        site!("parts/cart-full.html"),
        &[
            ("lines", lines(session, site!("parts/cart-line.html"))),
            ("totals", totals(session)),
            ("promo", text(refused.unwrap_or(promo))),
            ("promo_invalid", markup_if(refused.is_some(), r#" aria-invalid="true""#)),
            ("promo_note", promo_note),
        ],
    )
}

fn lines(session: &Session, template: &str) -> Html {
    let row = |line: &Line| {
        let mut values = facts(line.product);
        values.extend([
            ("key", text(line.key())),
            ("variant", text(line.variant())),
            ("quantity", text(line.quantity)),
            ("each", text(dollars(line.each_cents()))),
            ("total", text(dollars(line.total_cents()))),
        ]);
        fill(template, &values)
    };
    session.cart.iter().map(row).collect()
}

fn totals(session: &Session) -> Html {
    let totals = session.totals();
    let discount = session.has_promo.then(|| {
        let values = [("code", text(PROMO_CODE)), ("amount", text(dollars(totals.discount)))];
        fill(site!("parts/discount.html"), &values)
    });
    let delivery = match totals.delivery {
        0 => "Free".to_string(),
        cents => dollars(cents),
    };
    fill(
        site!("parts/totals.html"),
        &[
            ("subtotal", text(dollars(totals.subtotal))),
            ("discount", discount.unwrap_or_default()),
            ("delivery", text(delivery)),
            ("total", text(dollars(totals.total))),
        ],
    )
}

fn show(product: &Product, template: &str) -> Html {
    fill(template, &facts(product))
}

/// Template values of a product.
fn facts(product: &Product) -> Vec<(&'static str, Html)> {
    vec![
        ("id", text(product.id)),
        ("name", text(product.name)),
        ("category", text(product.category.label())),
        ("category_id", text(product.category.id())),
        ("cents", text(product.cents)),
        ("price", text(dollars(product.cents))),
        ("rating", text(product.rating())),
        ("review_count", text(product.review_count)),
        ("blurb", text(product.blurb)),
        ("detail", text(product.detail)),
        ("art", markup(product.art)),
    ]
}

fn steps(step: u32) -> Html {
    fill(site!("parts/steps.html"), &[("step", text(step))])
}

fn alert(message: &str) -> Html {
    fill(site!("parts/alert.html"), &[("message", text(message))])
}

fn notice(message: &str) -> Html {
    fill(site!("parts/notice.html"), &[("message", text(message))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_names_are_derived_from_addresses() {
        let check = |email: &str, expected: &str| assert_eq!(display_name(email), expected);
        check("ada@example.com", "Ada");
        check("ada.fern@example.com", "Ada Fern");
        check("élan_vital+shop@example.com", "Élan Vital Shop");
        check("", "");
    }

    #[test]
    fn no_placeholder_is_left_open() {
        let line = |is_gift| Line { product: &PRODUCTS[0], size: 0, is_gift, quantity: 1 };
        let guest = Session::default();
        let member = Session {
            email: Some("ada@example.com".to_string()),
            cart: vec![line(false), line(true)],
            saved: Vec::new(),
            has_promo: true,
        };
        let survey = Survey { reason: REASONS[0].0, note: "<note>".to_string() };
        let in_status = |status| Subscription { status, survey: None };
        let statuses = [Status::Active, Status::Discounted, Status::Cancelled];

        let mut pages = vec![card_frame("http://127.0.0.1:1")];
        for session in [&guest, &member] {
            pages.extend([
                home(session),
                login(session, "/cart", "a@b", true),
                cart(session, None),
                cart(session, Some("NOPE")),
                checkout(session, "http://localhost:1"),
                cancel_offer(session),
                cancel_reason(session, Some(&survey)),
                cancel_confirm(session, &survey),
                cancel_done(session),
                lab(session),
                not_found(session, "/x"),
            ]);
            pages.extend(PRODUCTS.iter().map(|shown| product(session, shown)));
            pages.extend(statuses.map(|status| subscription(session, "a@b", &in_status(status))));
        }
        for page in pages {
            let page = page.as_str();
            let open = page.find("{{").map(|at| page[at..].chars().take(40).collect::<String>());
            assert_eq!(open, None);
        }
    }

    #[test]
    fn user_input_is_escaped() {
        let typed = r#""><script>x</script>"#;
        let survey = Survey { reason: REASONS[0].0, note: typed.to_string() };
        let session = Session {
            email: Some(typed.to_string()),
            cart: vec![Line { product: &PRODUCTS[0], size: 0, is_gift: false, quantity: 1 }],
            ..Session::default()
        };
        for page in [
            login(&session, typed, typed, true),
            cart(&session, Some(typed)),
            cancel_reason(&session, Some(&survey)),
            cancel_confirm(&session, &survey),
            not_found(&session, typed),
            subscription(&session, typed, &Subscription::default()),
        ] {
            assert!(!page.as_str().contains("<script>x"));
        }
    }
}
