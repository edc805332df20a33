//! State of the shop: sessions with their carts, tea-box subscriptions, the order count.
//! Ids count up instead of being random, so two runs of the same requests get the same bytes. That makes them
//! guessable, which is fine on loopback and nowhere else.

use std::collections::HashMap;

use super::catalogue::{self, GIFT_WRAP_CENTS, Product};

pub(super) const PROMO_CODE: &str = "FERN10";
const PROMO_PERCENT: u32 = 10;
const DELIVERY_CENTS: u32 = 600;
const FREE_DELIVERY_FROM_CENTS: u32 = 7500;
const MAX_PER_LINE: u32 = 99;
const FIRST_ORDER: u32 = 1001;

#[derive(Debug, Default)]
pub(super) struct Shop {
    sessions: HashMap<String, Session>,
    /// By e-mail address, so that they outlive a session.
    subscriptions: HashMap<String, Subscription>,
    sessions_opened: u32,
    orders_placed: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) email: Option<String>,
    pub(super) cart: Vec<Line>,
    pub(super) saved: Vec<&'static Product>,
    pub(super) has_promo: bool,
}

/// One row of a cart.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) product: &'static Product,
    /// Index into the product's sizes.
    pub(super) size: usize,
    pub(super) is_gift: bool,
    pub(super) quantity: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) subtotal: u32,
    pub(super) discount: u32,
    pub(super) delivery: u32,
    pub(super) total: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Subscription {
    pub(super) status: Status,
    /// The answer to "what made you decide", once given.
    pub(super) survey: Option<Survey>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    #[default]
    Active,
    /// Active, having accepted the offer to stay.
    Discounted,
    Cancelled,
}

#[derive(Clone, Debug)]
pub(super) struct Survey {
    pub(super) reason: &'static str,
    pub(super) note: String,
}

#[derive(Debug)]
pub(super) struct Order {
    pub(super) number: String,
    pub(super) total: u32,
}

impl Shop {
    /// Returns a copy of the session; empty for a visitor without one.
    pub(super) fn session(&self, id: Option<&str>) -> Session {
        id.and_then(|id| self.sessions.get(id)).cloned().unwrap_or_default()
    }

    /// Changes a session, or a new one for a visitor without one. Returns the id for the cookie.
    pub(super) fn change<T>(
        &mut self,
        id: Option<&str>,
        edit: impl FnOnce(&mut Session) -> T,
    ) -> (String, T) {
        let existing = id.filter(|id| self.sessions.contains_key(*id)).map(str::to_string);
        let id = existing.unwrap_or_else(|| self.new_id());
        let result = edit(self.sessions.entry(id.clone()).or_default());
        (id, result)
    }

    /// Signs in under a new session id and keeps the cart.
    pub(super) fn sign_in(&mut self, id: Option<&str>, email: &str) -> String {
        let session = id.and_then(|id| self.sessions.remove(id)).unwrap_or_default();
        let id = self.new_id();
        self.sessions.insert(id.clone(), Session { email: Some(email.to_string()), ..session });
        id
    }

    pub(super) fn sign_out(&mut self, id: Option<&str>) {
        if let Some(id) = id {
            self.sessions.remove(id);
        }
    }

    pub(super) fn subscription(&mut self, email: &str) -> &mut Subscription {
        self.subscriptions.entry(email.to_string()).or_default()
    }

    /// Turns the cart into an order; `None` if it is empty.
    pub(super) fn place_order(&mut self, id: Option<&str>) -> Option<Order> {
        let session = self.sessions.get_mut(id?)?;
        if session.cart.is_empty() {
            return None;
        }
        let total = session.totals().total;
        session.cart.clear();
        session.has_promo = false;
        self.orders_placed += 1;
        let number = format!("FW-{}", FIRST_ORDER + self.orders_placed - 1);
        Some(Order { number, total })
    }

    fn new_id(&mut self) -> String {
        self.sessions_opened += 1;
        format!("s{}", self.sessions_opened)
    }
}

impl Default for Session {
    /// Has two saved items, so that there is something to empty.
    fn default() -> Session {
        let saved = ["field-notebook", "pine-smoke"];
        Session {
            email: None,
            cart: Vec::new(),
            saved: saved.iter().filter_map(|id| catalogue::find(id)).collect(),
            has_promo: false,
        }
    }
}

impl Session {
    /// Adds a line, or increases the quantity of an existing one.
    pub(super) fn add(&mut self, line: Line) {
        match self.cart.iter_mut().find(|existing| existing.key() == line.key()) {
            Some(existing) => {
                existing.quantity = (existing.quantity + line.quantity).min(MAX_PER_LINE);
            }
            None => self.cart.push(line),
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.cart.retain(|line| line.key() != key);
    }

    pub(super) fn item_count(&self) -> u32 {
        self.cart.iter().map(|line| line.quantity).sum()
    }

    pub(super) fn totals(&self) -> Totals {
        let subtotal: u32 = self.cart.iter().map(Line::total_cents).sum();
        let discount = if self.has_promo { subtotal * PROMO_PERCENT / 100 } else { 0 };
        let is_free = subtotal - discount >= FREE_DELIVERY_FROM_CENTS;
        let delivery = if is_free { 0 } else { DELIVERY_CENTS };
        Totals { subtotal, discount, delivery, total: subtotal - discount + delivery }
    }
}

impl Line {
    /// Key of the line in HTML and forms: the same product, size and wrapping share one.
    pub(super) fn key(&self) -> String {
        let wrapping = if self.is_gift { "-gift" } else { "" };
        format!("{}-{}{wrapping}", self.product.id, self.size)
    }

    pub(super) fn variant(&self) -> String {
        let wrapping = if self.is_gift { ", gift wrapped" } else { "" };
        format!("{}{wrapping}", self.chosen().0)
    }

    pub(super) fn each_cents(&self) -> u32 {
        let wrapping = if self.is_gift { GIFT_WRAP_CENTS } else { 0 };
        self.product.cents + self.chosen().1 + wrapping
    }

    pub(super) fn total_cents(&self) -> u32 {
        self.each_cents() * self.quantity
    }

    /// The chosen size; a number past the last one counts as the last.
    fn chosen(&self) -> (&'static str, u32) {
        let sizes = &self.product.sizes;
        sizes[self.size.min(sizes.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, size: usize, is_gift: bool, quantity: u32) -> Line {
        Line { product: catalogue::find(id).expect("listed"), size, is_gift, quantity }
    }

    #[test]
    fn totals_add_up() {
        let check = |lines: &[Line], has_promo: bool, expected: [u32; 4]| {
            let session = Session { cart: lines.to_vec(), has_promo, ..Session::default() };
            let Totals { subtotal, discount, delivery, total } = session.totals();
            assert_eq!([subtotal, discount, delivery, total], expected);
        };
        check(&[], false, [0, 0, 600, 600]);
        check(&[line("stone-cup", 0, false, 2)], false, [4400, 0, 600, 5000]);
        check(&[line("stone-cup", 1, true, 1)], false, [3000, 0, 600, 3600]);
        check(&[line("camp-kettle", 1, false, 2)], true, [13600, 1360, 0, 12240]);
    }

    #[test]
    fn same_product_and_size_share_a_line() {
        let mut session = Session::default();
        session.add(line("stone-cup", 0, false, 1));
        session.add(line("stone-cup", 0, false, 2));
        session.add(line("stone-cup", 0, true, 1));
        assert_eq!((session.cart.len(), session.item_count()), (2, 4));
        session.remove("stone-cup-0");
        assert_eq!((session.cart.len(), session.item_count()), (1, 1));
    }

    #[test]
    fn sign_in_keeps_the_cart() {
        let mut shop = Shop::default();
        let (guest, ()) = shop.change(None, |session| session.add(line("stone-cup", 0, false, 1)));
        let member = shop.sign_in(Some(&guest), "ada@example.com");
        assert_ne!(guest, member);
        assert_eq!(shop.session(Some(&member)).item_count(), 1);
        assert_eq!(shop.session(Some(&guest)).item_count(), 0);
    }

    #[test]
    fn order_numbers_count_up() {
        let mut shop = Shop::default();
        assert!(shop.place_order(None).is_none());
        for expected in ["FW-1001", "FW-1002"] {
            let (id, ()) = shop.change(None, |session| session.add(line("stone-cup", 0, false, 1)));
            assert_eq!(shop.place_order(Some(&id)).expect("a full cart").number, expected);
            assert!(shop.place_order(Some(&id)).is_none(), "the cart is empty now");
        }
    }
}
