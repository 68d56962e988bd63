//! Types of MariaDB that its binary log contains as plain bytes: UUID, INET4, INET6, VECTOR. Only the table's
//! definition distinguishes them from BINARY and VARBINARY.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::Value;
use crate::gtid_set::Uuid;

/// A type that the log contains as plain bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeType {
    /// UUID: 16 bytes in the order of its digits (`UUID::pack` of `sql_type_uuid.h`).
    Uuid,
    /// INET4: 4 bytes in network order.
    Inet4,
    /// INET6: 16 bytes in network order.
    Inet6,
    /// VECTOR: 32-bit floating-point numbers, low byte first.
    Vector,
}

impl NativeType {
    /// Decodes the bytes. If there are too many bytes for the type, they stay bytes.
    pub(crate) fn value<'a>(self, bytes: &'a [u8]) -> Value<'a> {
        let shown = match self {
            Self::Uuid => padded(bytes).map(|it| Uuid(it).to_string()),
            Self::Inet4 => padded(bytes).map(|it| Ipv4Addr::from(it).to_string()),
            Self::Inet6 => padded(bytes).map(|it| Ipv6Addr::from(it).to_string()),
            Self::Vector => {
                let (numbers, rest) = bytes.as_chunks::<4>();
                if rest.is_empty() {
                    let numbers = numbers.iter().map(|it| f32::from_le_bytes(*it));
                    return Value::Vector(numbers.collect());
                }
                None
            }
        };
        match shown {
            Some(text) => Value::Text(Cow::Owned(text)),
            None => Value::Bytes(Cow::Borrowed(bytes)),
        }
    }
}

/// Adds zero bytes, because the server removes those at the end.
fn padded<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let mut padded = [0; N];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_printed_as_the_server_prints_them() {
        let text = |native: NativeType, bytes: &[u8]| {
            let told = native.value(bytes).to_bytes().unwrap().into_owned();
            String::from_utf8(told).unwrap()
        };
        let uuid = b"\x12\x3e\x45\x67\xe8\x9b\x12\xd3\xa4\x56\x42\x66\x55\x44";
        assert_eq!(
            text(NativeType::Uuid, uuid),
            "123e4567-e89b-12d3-a456-426655440000"
        );
        assert_eq!(text(NativeType::Inet4, b"\x0a"), "10.0.0.0");
        assert_eq!(text(NativeType::Inet6, b""), "::");
        assert_eq!(text(NativeType::Inet6, b"\x20\x01\x0d\xb8"), "2001:db8::");
        let mapped = b"\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\x02\x01";
        assert_eq!(text(NativeType::Inet6, mapped), "::ffff:192.0.2.1");
        let vector = [1_f32.to_le_bytes(), (-2.5_f32).to_le_bytes()].concat();
        assert_eq!(
            NativeType::Vector.value(&vector),
            Value::Vector(vec![1.0, -2.5])
        );
    }

    #[test]
    fn bytes_that_do_not_fit_stay_bytes() {
        for (native, bytes) in [
            (NativeType::Uuid, &[1; 17][..]),
            (NativeType::Inet4, &[1; 5]),
            (NativeType::Vector, &[1; 5]),
        ] {
            assert_eq!(native.value(bytes), Value::Bytes(bytes.into()));
        }
    }
}
