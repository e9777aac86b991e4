//! What kind of address a name led to. Only public ones are reached unless a grant says otherwise: a name is the
//! business of whoever owns it, and may point into the operator's own network.
//!
//! The kinds follow the special-purpose registries of IANA (RFC 6890 and its updates) for IPv4 and IPv6. This module must
//! never call an address public that it does not know to be.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anybody's: the open network.
    Public,
    /// This machine or a network of the operator's; the word says which. Reached only where a grant says `+private`.
    Private(&'static str),
    /// A cloud's metadata service, which hands out credentials. Reached only where a private grant names the address
    /// itself.
    Metadata,
    /// Nobody's: no request can be meant for it. The word says which.
    Never(&'static str),
}

impl Kind {
    /// The word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private(word) | Self::Never(word) => word,
            Self::Metadata => "metadata",
        }
    }
}

/// The metadata services of the large clouds, by IPv4 address: the link-local one most use, and those of Alibaba,
/// Oracle and Azure.
const METADATA_V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];
/// The metadata service of AWS by IPv6.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The kind of an address. One that carries an IPv4 address (mapped, compatible, NAT64, 6to4) is of that one's kind.
pub fn kind(address: IpAddr) -> Kind {
    match address {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

fn kind_v4(address: Ipv4Addr) -> Kind {
    if METADATA_V4.contains(&address) {
        return Kind::Metadata;
    }
    match address.octets() {
        [0, ..] => Kind::Never("unspecified"),
        [127, ..] => Kind::Private("loopback"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Kind::Private("private"),
        [169, 254, ..] => Kind::Private("link-local"),
        [100, 64..=127, ..] => Kind::Private("shared (CGNAT)"),
        [198, 18..=19, ..] => Kind::Private("benchmark"),
        [192, 0, 0, _] | [192, 88, 99, _] => Kind::Never("reserved"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Kind::Never("documentation"),
        [224..=239, ..] => Kind::Never("multicast"),
        [240..=255, ..] => Kind::Never("reserved"),
        _ => Kind::Public,
    }
}

fn kind_v6(address: Ipv6Addr) -> Kind {
    if address == METADATA_V6 {
        return Kind::Metadata;
    }
    if address == Ipv6Addr::LOCALHOST {
        return Kind::Private("loopback");
    }
    if address == Ipv6Addr::UNSPECIFIED {
        return Kind::Never("unspecified");
    }
    let s = address.segments();
    let carried = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        kind_v4(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        // IPv4-mapped, IPv4-compatible, IPv4-translated, NAT64.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        // 6to4.
        | [0x2002, high, low, ..] => carried(high, low),
        // NAT64 of a network of its own: what it leads to is not known from here.
        [0x64, 0xff9b, 1, ..] => Kind::Private("private"),
        // Teredo and the other protocol assignments.
        [0x2001, 0..=0x1ff, ..] => Kind::Never("reserved"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Kind::Never("documentation"),
        [0xfc00..=0xfdff, ..] => Kind::Private("unique-local"),
        [0xfe80..=0xfebf, ..] => Kind::Private("link-local"),
        [0xfec0..=0xfeff, ..] => Kind::Private("site-local"),
        [0xff00..=0xffff, ..] => Kind::Never("multicast"),
        // Global unicast.
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Never("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Kind {
        kind(text.parse().unwrap())
    }

    #[test]
    fn each_special_range_has_its_kind_at_both_ends() {
        for (addresses, word) in [
            (["0.0.0.0", "0.255.255.255"], "unspecified"),
            (["127.0.0.0", "127.255.255.255"], "loopback"),
            (["10.0.0.0", "10.255.255.255"], "private"),
            (["172.16.0.0", "172.31.255.255"], "private"),
            (["192.168.0.0", "192.168.255.255"], "private"),
            (["169.254.0.0", "169.254.255.255"], "link-local"),
            (["100.64.0.0", "100.127.255.255"], "shared (CGNAT)"),
            (["224.0.0.0", "239.255.255.255"], "multicast"),
            (["240.0.0.0", "255.255.255.255"], "reserved"),
            (["192.0.2.0", "203.0.113.255"], "documentation"),
            (["::", "::"], "unspecified"),
            (["::1", "::1"], "loopback"),
            (["fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], "unique-local"),
            (["fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], "link-local"),
            (["ff00::", "ff02::1"], "multicast"),
            (["2001::1", "2001:1ff::"], "reserved"),
            (["2001:db8::1", "3fff:fff::"], "documentation"),
            (["64:ff9b:1::1", "64:ff9b:1:2::1"], "private"),
        ] {
            for address in addresses {
                assert_eq!(of(address).word(), word, "{address}");
            }
        }
    }

    #[test]
    fn just_outside_a_special_range_is_public() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "223.255.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "2000::1",
            "2606:4700::1111",
            "2001:200::1",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ] {
            assert_eq!(of(address), Kind::Public, "{address}");
        }
    }

    #[test]
    fn the_metadata_services_are_known_in_every_spelling() {
        for address in [
            "169.254.169.254",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::",
            "::169.254.169.254",
        ] {
            assert_eq!(of(address), Kind::Metadata, "{address}");
        }
    }

    proptest! {
        #[test]
        fn an_address_that_carries_an_ipv4_address_is_of_its_kind(bits: u32, tail: u64) {
            let inner = Ipv4Addr::from(bits);
            let expected = kind(IpAddr::V4(inner));
            let low = u128::from(bits);
            for high in [0xffff_u128 << 32, 0xffff_u128 << 48, 0x0064_ff9b_u128 << 96] {
                prop_assert_eq!(kind(IpAddr::V6(Ipv6Addr::from(high | low))), expected);
            }
            let six_to_four = 0x2002_u128 << 112 | low << 80 | u128::from(tail);
            prop_assert_eq!(kind(IpAddr::V6(Ipv6Addr::from(six_to_four))), expected);
        }

        #[test]
        fn what_the_standard_library_calls_special_is_never_public(bits: u128) {
            let v6 = Ipv6Addr::from(bits);
            if v6.is_loopback() || v6.is_multicast() || v6.is_unspecified() || v6.is_unique_local()
                || v6.is_unicast_link_local()
            {
                prop_assert_ne!(kind(IpAddr::V6(v6)), Kind::Public);
            }
            let v4 = Ipv4Addr::from_bits(u32::try_from(bits & 0xffff_ffff).unwrap());
            if v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_multicast() || v4.is_broadcast()
                || v4.is_documentation() || v4.is_unspecified()
            {
                prop_assert_ne!(kind(IpAddr::V4(v4)), Kind::Public);
            }
        }

        #[test]
        fn nothing_outside_global_unicast_is_public_by_ipv6_unless_it_carries_a_public_ipv4(bits: u128) {
            let address = Ipv6Addr::from(bits & !(0b111 << 125));
            if kind(IpAddr::V6(address)) == Kind::Public {
                let inner = Ipv4Addr::from_bits(u32::try_from(bits & 0xffff_ffff).unwrap());
                prop_assert_eq!(kind(IpAddr::V4(inner)), Kind::Public);
            }
        }
    }
}
