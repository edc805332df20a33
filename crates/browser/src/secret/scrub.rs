//! A serializer that masks secrets: strings are masked while they are written, before they are JSON.
//!
//! Only strings are touched. Names of fields and variants, map keys and our own numbers are not page text, and
//! masking in them would break the reply; JSON that a page wrote is masked as JSON, its keys and numbers included.

use super::needles::Needles;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt::Display;

/// The struct name under which `serde_json` serializes raw JSON.
const RAW_JSON: &str = "$serde_json::private::RawValue";

/// A value that serializes with its secrets masked.
pub(super) struct Scrubbed<'a, T: ?Sized>(pub(super) &'a T, pub(super) &'a Needles);

impl<T: Serialize + ?Sized> Serialize for Scrubbed<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Scrub { to, needles: self.1 })
    }
}

/// A serializer that masks strings on their way to another one.
struct Scrub<'a, S> {
    to: S,
    needles: &'a Needles,
}

/// The parts of a compound value.
struct CompoundParts<'a, C> {
    to: C,
    needles: &'a Needles,
    is_raw_json: bool,
}

impl<'a, S> Scrub<'a, S> {
    fn parts<C, E>(
        self,
        is_raw_json: bool,
        begin: impl FnOnce(S) -> Result<C, E>,
    ) -> Result<CompoundParts<'a, C>, E> {
        let needles = self.needles;
        begin(self.to).map(|to| CompoundParts { to, needles, is_raw_json })
    }
}

/// Calls without page strings.
macro_rules! forward {
    ($( $call:ident($($name:ident: $kind:ty),*); )*) => { $(
        fn $call(self, $($name: $kind),*) -> Result<S::Ok, S::Error> {
            self.to.$call($($name),*)
        }
    )* };
}

impl<'a, S: Serializer> Serializer for Scrub<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = CompoundParts<'a, S::SerializeSeq>;
    type SerializeTuple = CompoundParts<'a, S::SerializeTuple>;
    type SerializeTupleStruct = CompoundParts<'a, S::SerializeTupleStruct>;
    type SerializeTupleVariant = CompoundParts<'a, S::SerializeTupleVariant>;
    type SerializeMap = CompoundParts<'a, S::SerializeMap>;
    type SerializeStruct = CompoundParts<'a, S::SerializeStruct>;
    type SerializeStructVariant = CompoundParts<'a, S::SerializeStructVariant>;

    forward! {
        serialize_bool(value: bool);
        serialize_i8(value: i8);
        serialize_i16(value: i16);
        serialize_i32(value: i32);
        serialize_i64(value: i64);
        serialize_u8(value: u8);
        serialize_u16(value: u16);
        serialize_u32(value: u32);
        serialize_u64(value: u64);
        serialize_f32(value: f32);
        serialize_f64(value: f64);
        serialize_char(value: char);
        serialize_bytes(value: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
    }

    fn serialize_str(self, text: &str) -> Result<S::Ok, S::Error> {
        self.to.serialize_str(&self.needles.mask(text))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.serialize_str(&value.to_string())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.to.serialize_some(&Scrubbed(value, self.needles))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.to.serialize_newtype_struct(name, &Scrubbed(value, self.needles))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = Scrubbed(value, self.needles);
        self.to.serialize_newtype_variant(name, index, variant, &value)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.parts(false, |to| to.serialize_seq(length))
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.parts(false, |to| to.serialize_tuple(length))
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.parts(false, |to| to.serialize_tuple_struct(name, length))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.parts(false, |to| to.serialize_tuple_variant(name, index, variant, length))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.parts(false, |to| to.serialize_map(length))
    }

    fn serialize_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        self.parts(name == RAW_JSON, |to| to.serialize_struct(name, length))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.parts(false, |to| to.serialize_struct_variant(name, index, variant, length))
    }
}

/// Compound values whose parts are values only.
macro_rules! compound {
    ($( $kind:ident $call:ident($($name:ident: $of:ty),*); )*) => { $(
        impl<C: $kind> $kind for CompoundParts<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;
            fn $call<T: Serialize + ?Sized>(
                &mut self,
                $($name: $of,)*
                value: &T,
            ) -> Result<(), C::Error> {
                self.to.$call($($name,)* &Scrubbed(value, self.needles))
            }
            fn end(self) -> Result<C::Ok, C::Error> {
                self.to.end()
            }
        }
    )* };
}

compound! {
    SerializeSeq serialize_element();
    SerializeTuple serialize_element();
    SerializeTupleStruct serialize_field();
    SerializeTupleVariant serialize_field();
    SerializeStructVariant serialize_field(key: &'static str);
}

impl<C: SerializeMap> SerializeMap for CompoundParts<'_, C> {
    type Ok = C::Ok;
    type Error = C::Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), C::Error> {
        self.to.serialize_key(key)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        self.to.serialize_value(&Scrubbed(value, self.needles))
    }
    fn end(self) -> Result<C::Ok, C::Error> {
        self.to.end()
    }
}

impl<C: SerializeStruct> SerializeStruct for CompoundParts<'_, C> {
    type Ok = C::Ok;
    type Error = C::Error;
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), C::Error> {
        if !self.is_raw_json {
            return self.to.serialize_field(key, &Scrubbed(value, self.needles));
        }
        let Ok(Value::String(raw)) = serde_json::to_value(value) else {
            return Err(C::Error::custom("JSON of a page is a string"));
        };
        match self.needles.mask_json(&raw).map_err(C::Error::custom)? {
            Some(masked) => self.to.serialize_field(key, &masked),
            None => self.to.serialize_field(key, value),
        }
    }
    fn end(self) -> Result<C::Ok, C::Error> {
        self.to.end()
    }
}
