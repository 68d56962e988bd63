//! XA_PREPARE: an XA transaction is prepared.

use wire::{Malformed, Reader};

/// The maximum length of each part of an XA identifier, in bytes.
const PART_BYTES_MAX: usize = 64;

/// The identifier of an XA transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xid<'a> {
    /// Its format.
    pub format: u32,
    /// The global part.
    pub global: &'a [u8],
    /// The branch.
    pub branch: &'a [u8],
}

impl<'a> Xid<'a> {
    pub(crate) fn read(
        reader: &mut Reader<'a>,
        format: u32,
        (global, branch): (usize, usize),
    ) -> Result<Self, Malformed> {
        if global.max(branch) > PART_BYTES_MAX {
            return Err(Malformed::Invalid("length of an XA identifier"));
        }
        Ok(Self {
            format,
            global: reader.bytes(global, "global part of the XA identifier")?,
            branch: reader.bytes(branch, "branch of the XA identifier")?,
        })
    }
}

/// The end of the first part of an XA transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XaPrepare<'a> {
    /// Whether the event also commits the transaction (`XA COMMIT … ONE PHASE`).
    pub is_one_phase: bool,
    /// The identifier of the transaction.
    pub xid: Xid<'a>,
}

impl<'a> XaPrepare<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short, or its lengths are not allowed.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let is_one_phase = reader.u8("one-phase flag")? != 0;
        let format = reader.u32("format of the XA identifier")?;
        let global = reader.u32("length of the global part")? as usize;
        let branch = reader.u32("length of the branch")? as usize;
        Ok(Self {
            is_one_phase,
            xid: Xid::read(&mut reader, format, (global, branch))?,
        })
    }
}
