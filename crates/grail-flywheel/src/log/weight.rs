//! How much memory an event takes, told without writing it out: what a text says does not matter, only how long it is.
//!
//! Runs where the event is handed over, so it gives up on what is too much instead of measuring it.

use std::fmt;

use serde::ser::{self, Serialize};

use crate::event::Event;

/// Events with more parts than this count as too large.
const MAX_PARTS: usize = 50_000;
/// Deeper ones could be written but not be read again.
pub(crate) const MAX_DEPTH: usize = 64;
/// What a number, a name or a bracket counts.
const PART_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMuch {
    Bytes,
    Depth,
}

/// The bytes that an event takes, about; at most `limit`.
pub(crate) fn weigh(event: &Event, limit: usize) -> Result<usize, TooMuch> {
    let mut scale = Scale { bytes: 0, parts: 0, depth: 0, limit };
    event.serialize(&mut scale)?;
    Ok(scale.bytes)
}

struct Scale {
    bytes: usize,
    parts: usize,
    depth: usize,
    limit: usize,
}

impl Scale {
    fn add(&mut self, bytes: usize) -> Result<(), TooMuch> {
        self.bytes += bytes + PART_BYTES;
        self.parts += 1;
        if self.bytes > self.limit || self.parts > MAX_PARTS { Err(TooMuch::Bytes) } else { Ok(()) }
    }

    fn deeper(&mut self) -> Result<&mut Self, TooMuch> {
        self.add(0)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(TooMuch::Depth) } else { Ok(self) }
    }

    fn back(&mut self) -> Result<(), TooMuch> {
        self.depth -= 1;
        Ok(())
    }
}

impl fmt::Display for TooMuch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

impl std::error::Error for TooMuch {}

impl ser::Error for TooMuch {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self::Bytes
    }
}

macro_rules! count_as_part {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(fn $method(self, _value: $type) -> Result<(), TooMuch> {
            self.add(0)
        })*
    };
}

impl<'a> ser::Serializer for &'a mut Scale {
    type Ok = ();
    type Error = TooMuch;
    type SerializeSeq = &'a mut Scale;
    type SerializeTuple = &'a mut Scale;
    type SerializeTupleStruct = &'a mut Scale;
    type SerializeTupleVariant = &'a mut Scale;
    type SerializeMap = &'a mut Scale;
    type SerializeStruct = &'a mut Scale;
    type SerializeStructVariant = &'a mut Scale;

    count_as_part! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8,
        serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32, serialize_f64: f64, serialize_char: char,
        serialize_unit_struct: &'static str,
    }

    fn serialize_str(self, value: &str) -> Result<(), TooMuch> {
        self.add(value.len())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), TooMuch> {
        self.add(value.len())
    }

    fn serialize_none(self) -> Result<(), TooMuch> {
        self.add(0)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), TooMuch> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), TooMuch> {
        self.add(0)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
    ) -> Result<(), TooMuch> {
        self.add(0)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), TooMuch> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Result<(), TooMuch> {
        value.serialize(self)
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Self, TooMuch> {
        self.deeper()
    }

    fn serialize_tuple(self, _length: usize) -> Result<Self, TooMuch> {
        self.deeper()
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Self, TooMuch> {
        self.deeper()
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, TooMuch> {
        self.deeper()
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Self, TooMuch> {
        self.deeper()
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Self, TooMuch> {
        self.deeper()
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, TooMuch> {
        self.deeper()
    }
}

macro_rules! count_elements {
    ($($trait:ident $method:ident),* $(,)?) => {
        $(impl ser::$trait for &mut Scale {
            type Ok = ();
            type Error = TooMuch;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), TooMuch> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), TooMuch> {
                self.back()
            }
        })*
    };
}

macro_rules! count_fields {
    ($($trait:ident),* $(,)?) => {
        $(impl ser::$trait for &mut Scale {
            type Ok = ();
            type Error = TooMuch;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                _name: &'static str,
                value: &T,
            ) -> Result<(), TooMuch> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), TooMuch> {
                self.back()
            }
        })*
    };
}

count_elements! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

count_fields! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for &mut Scale {
    type Ok = ();
    type Error = TooMuch;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), TooMuch> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), TooMuch> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), TooMuch> {
        self.back()
    }
}
