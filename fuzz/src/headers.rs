//! PROXY headers: the parser reads piece by piece, and no byte after the header.

use crate::proxy_protocol::{Header, Progress, begins_header, encode_v2, parse};

/// Input: the first bytes of a connection.
pub fn proxy_header(data: &[u8]) {
    let whole = parse(data);
    let mut have = 0;
    // `read` does the same: it never reads more bytes than certainly belong to the header.
    let outcome = loop {
        match parse(&data[..have]) {
            Ok(Progress::Need(more)) => {
                assert!(more > 0, "nothing is needed");
                if have + more > data.len() {
                    break None;
                }
                have += more;
            }
            ended => break Some(ended),
        }
    };
    match (whole, outcome) {
        (Ok(Progress::Complete { header, length }), Some(read)) => {
            assert!(begins_header([data[0], data[1], data[2], data[3]]));
            assert_eq!(read, Ok(Progress::Complete { header, length }));
            assert_eq!(length, have, "no byte of what follows is read");
            check_round_trip(&header);
        }
        (Ok(Progress::Complete { .. }), None) => panic!("complete, but more is needed"),
        (Err(_), Some(read)) => assert!(read.is_err(), "{read:?}"),
        (Ok(Progress::Need(_)), Some(read)) => panic!("{read:?}, but more is needed"),
        (Ok(Progress::Need(_)) | Err(_), None) => {}
    }
}

fn check_round_trip(header: &Header) {
    let mut bytes = Vec::new();
    encode_v2(header, &mut bytes);
    let Ok(Progress::Complete {
        header: read,
        length,
    }) = parse(&bytes)
    else {
        panic!("{header:?} cannot be read again");
    };
    assert_eq!(length, bytes.len());
    let addresses = |header: &Header| match header {
        Header::Own => None,
        Header::Proxied {
            source,
            destination,
        } => {
            Some([source, destination].map(|address| (address.ip().to_canonical(), address.port())))
        }
    };
    assert_eq!(addresses(&read), addresses(header));
}
