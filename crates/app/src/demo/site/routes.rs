//! HTTP routes of the shop. A form submission is answered with a redirect, so that reloading a page never repeats it; one
//! from a script module gets its response as form data instead.

use axum::extract::{Path, Query, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Form, Router};
use serde::{Deserialize, Serialize};

use super::state::{Line, PROMO_CODE, Session, Status, Subscription, Survey};
use super::template::Html;
use super::visitor::{
    Member, SUBSCRIPTION, Shared, Visitor, forget_session, keep_session, local_path, query_value,
};
use super::{catalogue, pages};

pub(in super::super) const PASSWORD: &str = "fernway";
const FORM_DATA: &str = "application/x-www-form-urlencoded";
const MAX_QUANTITY: u32 = 20;

/// Router of the shop.
pub(super) fn shop(frame_origin: &str) -> Router {
    Router::new()
        .route("/", get(home))
        .route("/product/{id}", get(product))
        .route("/login", get(login_form).post(login))
        .route("/logout", post(logout))
        .route("/cart", get(cart))
        .route("/cart/add", post(add_to_cart))
        .route("/cart/remove", post(remove_line))
        .route("/cart/clear", post(clear_cart))
        .route("/cart/promo", post(apply_promo))
        .route("/cart/saved/empty", post(empty_saved))
        .route("/checkout", get(checkout))
        .route("/orders", post(place_order))
        .route("/account/subscription", get(subscription))
        .route("/account/subscription/keep", post(keep_subscription))
        .route("/account/subscription/restart", post(restart_subscription))
        .route("/account/subscription/cancel", get(cancel_offer))
        .route("/account/subscription/cancel/reason", get(cancel_reason).post(give_reason))
        .route("/account/subscription/cancel/confirm", get(cancel_confirm).post(finish_cancelling))
        .route("/account/subscription/cancel/done", get(cancel_done))
        .route("/lab", get(lab))
        .route("/lab/greenhouse", html_file(site!("pages/lab-greenhouse.html")))
        .route("/lab/seed-tray", html_file(site!("pages/lab-seed-tray.html")))
        .route("/files/catalogue.csv", get(catalogue_file))
        .route("/shop.js", module(site!("js/shop.js")))
        .route("/home.js", module(site!("js/home.js")))
        .route("/product.js", module(site!("js/product.js")))
        .route("/cart.js", module(site!("js/cart.js")))
        .route("/checkout.js", module(site!("js/checkout.js")))
        .route("/lab.js", module(site!("js/lab.js")))
        .route("/fern-elements.js", module(site!("js/fern-elements.js")))
        .route("/seed-tray.js", module(site!("js/seed-tray.js")))
        .merge(static_files::<Shared>())
        .fallback(not_found)
        .layer(map_response(no_store))
        .with_state(Shared::new(frame_origin))
}

/// Router of the card form, on its own origin.
pub(super) fn card_frame(shop_origin: &str) -> Router {
    let page = pages::card_frame(shop_origin);
    Router::new()
        .route("/card", get(move || async move { page }))
        .route("/card.js", module(site!("js/card.js")))
        .merge(static_files::<()>())
        .layer(map_response(no_store))
}

async fn home(visitor: Visitor) -> Html {
    pages::home(&visitor.session)
}

async fn product(visitor: Visitor, Path(id): Path<String>, uri: Uri) -> Response {
    match catalogue::find(&id) {
        Some(product) => pages::product(&visitor.session, product).into_response(),
        None => not_found(visitor, uri).await,
    }
}

async fn lab(visitor: Visitor) -> Html {
    pages::lab(&visitor.session)
}

async fn not_found(visitor: Visitor, uri: Uri) -> Response {
    (StatusCode::NOT_FOUND, pages::not_found(&visitor.session, uri.path())).into_response()
}

async fn catalogue_file() -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CONTENT_DISPOSITION, r#"attachment; filename="catalogue.csv""#),
    ];
    (headers, catalogue::csv())
}

// Signing in and out

#[derive(Deserialize)]
struct LoginQuery {
    #[serde(default)]
    next: String,
    #[serde(default)]
    email: String,
    refused: Option<String>,
}

#[derive(Deserialize)]
struct Credentials {
    email: String,
    password: String,
    #[serde(default)]
    next: String,
}

async fn login_form(visitor: Visitor, Query(query): Query<LoginQuery>) -> Response {
    if visitor.session.email.is_some() {
        return Redirect::to(local_path(&query.next)).into_response();
    }
    let was_refused = query.refused.is_some();
    pages::login(&visitor.session, &query.next, &query.email, was_refused).into_response()
}

async fn login(
    State(shared): State<Shared>,
    visitor: Visitor,
    Form(credentials): Form<Credentials>,
) -> Response {
    let email = credentials.email.trim();
    if email.is_empty() || credentials.password != PASSWORD {
        let (next, email) = (query_value(&credentials.next), query_value(email));
        return Redirect::to(&format!("/login?refused=yes&email={email}&next={next}"))
            .into_response();
    }
    let id = shared.shop().sign_in(visitor.id(), email);
    (keep_session(&id), Redirect::to(local_path(&credentials.next))).into_response()
}

async fn logout(State(shared): State<Shared>, visitor: Visitor) -> impl IntoResponse {
    shared.shop().sign_out(visitor.id());
    (forget_session(), Redirect::to("/"))
}

// Cart and checkout

#[derive(Deserialize)]
struct CartQuery {
    refused: Option<String>,
}

#[derive(Deserialize)]
struct CartItemForm {
    product: String,
    #[serde(default)]
    size: usize,
    #[serde(default = "one")]
    quantity: u32,
    gift: Option<String>,
}

#[derive(Deserialize)]
struct LineForm {
    line: String,
}

#[derive(Deserialize)]
struct PromoForm {
    code: String,
}

#[derive(Deserialize)]
struct Address {
    name: String,
}

/// Response for `shop.js`.
#[derive(Serialize)]
struct Added {
    added: &'static str,
    items: u32,
}

/// Response for `checkout.js`.
#[derive(Serialize)]
struct Placed {
    order: String,
    total: String,
    name: String,
}

async fn cart(visitor: Visitor, Query(query): Query<CartQuery>) -> Html {
    pages::cart(&visitor.session, query.refused.as_deref())
}

async fn add_to_cart(
    State(shared): State<Shared>,
    visitor: Visitor,
    headers: HeaderMap,
    uri: Uri,
    Form(form): Form<CartItemForm>,
) -> Response {
    let Some(product) = catalogue::find(&form.product) else {
        return not_found(visitor, uri).await;
    };
    let line = Line {
        product,
        size: form.size.min(product.sizes.len() - 1),
        is_gift: form.gift.is_some(),
        quantity: form.quantity.clamp(1, MAX_QUANTITY),
    };
    let (id, items) = shared.shop().change(visitor.id(), |session| {
        session.add(line);
        session.item_count()
    });
    if headers.get(ACCEPT).is_some_and(|accepted| accepted == FORM_DATA) {
        (keep_session(&id), Form(Added { added: product.name, items })).into_response()
    } else {
        (keep_session(&id), Redirect::to("/cart")).into_response()
    }
}

async fn remove_line(
    State(shared): State<Shared>,
    visitor: Visitor,
    Form(form): Form<LineForm>,
) -> Response {
    change_cart(&shared, &visitor, |session| session.remove(&form.line))
}

async fn clear_cart(State(shared): State<Shared>, visitor: Visitor) -> Response {
    change_cart(&shared, &visitor, |session| session.cart.clear())
}

async fn empty_saved(State(shared): State<Shared>, visitor: Visitor) -> Response {
    change_cart(&shared, &visitor, |session| session.saved.clear())
}

async fn apply_promo(
    State(shared): State<Shared>,
    visitor: Visitor,
    Form(form): Form<PromoForm>,
) -> Response {
    let code = form.code.trim();
    if code.eq_ignore_ascii_case(PROMO_CODE) {
        change_cart(&shared, &visitor, |session| session.has_promo = true)
    } else {
        Redirect::to(&format!("/cart?refused={}", query_value(code))).into_response()
    }
}

fn change_cart(shared: &Shared, visitor: &Visitor, edit: impl FnOnce(&mut Session)) -> Response {
    let (id, ()) = shared.shop().change(visitor.id(), edit);
    (keep_session(&id), Redirect::to("/cart")).into_response()
}

async fn checkout(State(shared): State<Shared>, visitor: Visitor) -> Response {
    if visitor.session.cart.is_empty() {
        return Redirect::to("/cart").into_response();
    }
    pages::checkout(&visitor.session, &shared.frame_origin).into_response()
}

async fn place_order(
    State(shared): State<Shared>,
    visitor: Visitor,
    Form(address): Form<Address>,
) -> Response {
    match shared.shop().place_order(visitor.id()) {
        Some(order) => {
            let total = catalogue::dollars(order.total);
            Form(Placed { order: order.number, total, name: address.name }).into_response()
        }
        None => (StatusCode::CONFLICT, "the cart is empty").into_response(),
    }
}

// The tea box subscription and its cancellation

#[derive(Deserialize)]
struct SurveyForm {
    reason: String,
    #[serde(default)]
    note: String,
}

async fn subscription(State(shared): State<Shared>, member: Member) -> Html {
    let subscription = shared.shop().subscription(&member.email).clone();
    pages::subscription(&member.session, &member.email, &subscription)
}

async fn keep_subscription(State(shared): State<Shared>, member: Member) -> Redirect {
    let mut shop = shared.shop();
    let subscription = shop.subscription(&member.email);
    if subscription.status == Status::Active {
        *subscription = Subscription { status: Status::Discounted, survey: None };
    }
    Redirect::to(SUBSCRIPTION)
}

async fn restart_subscription(State(shared): State<Shared>, member: Member) -> Redirect {
    *shared.shop().subscription(&member.email) = Subscription::default();
    Redirect::to(SUBSCRIPTION)
}

async fn cancel_offer(State(shared): State<Shared>, member: Member) -> Response {
    match shared.shop().subscription(&member.email).status {
        Status::Cancelled => Redirect::to(SUBSCRIPTION).into_response(),
        Status::Active | Status::Discounted => pages::cancel_offer(&member.session).into_response(),
    }
}

async fn cancel_reason(State(shared): State<Shared>, member: Member) -> Response {
    let subscription = shared.shop().subscription(&member.email).clone();
    if subscription.status == Status::Cancelled {
        return Redirect::to(SUBSCRIPTION).into_response();
    }
    pages::cancel_reason(&member.session, subscription.survey.as_ref()).into_response()
}

async fn give_reason(
    State(shared): State<Shared>,
    member: Member,
    Form(form): Form<SurveyForm>,
) -> Redirect {
    let Some(&(reason, _)) = pages::REASONS.iter().find(|(value, _)| *value == form.reason) else {
        return Redirect::to("/account/subscription/cancel/reason");
    };
    let survey = Survey { reason, note: form.note.trim().to_string() };
    shared.shop().subscription(&member.email).survey = Some(survey);
    Redirect::to("/account/subscription/cancel/confirm")
}

async fn cancel_confirm(State(shared): State<Shared>, member: Member) -> Response {
    let subscription = shared.shop().subscription(&member.email).clone();
    match (subscription.status, subscription.survey) {
        (Status::Cancelled, _) => Redirect::to(SUBSCRIPTION).into_response(),
        (_, None) => Redirect::to("/account/subscription/cancel/reason").into_response(),
        (_, Some(survey)) => pages::cancel_confirm(&member.session, &survey).into_response(),
    }
}

async fn finish_cancelling(State(shared): State<Shared>, member: Member) -> Redirect {
    let mut shop = shared.shop();
    let subscription = shop.subscription(&member.email);
    if subscription.survey.is_none() {
        return Redirect::to("/account/subscription/cancel/reason");
    }
    subscription.status = Status::Cancelled;
    Redirect::to("/account/subscription/cancel/done")
}

async fn cancel_done(State(shared): State<Shared>, member: Member) -> Response {
    match shared.shop().subscription(&member.email).status {
        Status::Cancelled => pages::cancel_done(&member.session).into_response(),
        Status::Active | Status::Discounted => Redirect::to(SUBSCRIPTION).into_response(),
    }
}

// Files and headers

/// Stylesheet and icons, served on both origins.
fn static_files<S: Clone + Send + Sync + 'static>() -> Router<S> {
    const ICON: &str = site!("art/favicon.svg");
    Router::new()
        .route("/style.css", file("text/css; charset=utf-8", site!("style.css")))
        .route("/favicon.svg", file("image/svg+xml", ICON))
        .route("/favicon.ico", file("image/svg+xml", ICON))
}

fn module<S: Clone + Send + Sync + 'static>(text: &'static str) -> MethodRouter<S> {
    file("text/javascript; charset=utf-8", text)
}

fn html_file<S: Clone + Send + Sync + 'static>(text: &'static str) -> MethodRouter<S> {
    file("text/html; charset=utf-8", text)
}

fn file<S: Clone + Send + Sync + 'static>(
    content_type: &'static str,
    text: &'static str,
) -> MethodRouter<S> {
    get(move || async move { ([(CONTENT_TYPE, content_type)], text) })
}

async fn no_store(mut response: Response) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn one() -> u32 {
    1
}
