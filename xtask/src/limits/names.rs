//! Names of types and files: none twice in a crate, none that says nothing, none that is a picture where the field has
//! a word.

use std::collections::BTreeMap;

use syn::Item;

use super::Figures;
use super::source::{Crate, Module};

/// Type names that fit anything.
const EMPTY: &[&str] = &[
    "Item", "Kind", "Place", "Part", "Told", "Said", "Look", "Way", "Asked", "Known",
];

/// Parts of names that are pictures. Words that the field uses as well are not here: order, line, cut, prefix,
/// history.
const PICTURES: &[&str] = &[
    "pooled",
    "desk",
    "shelf",
    "lent",
    "keeper",
    "ceiling",
    "ceilings",
    "turn",
    "growth",
    "pace",
    "ride",
    "trip",
    "fare",
    "aboard",
    "ashore",
    "luggage",
    "passenger",
    "relive",
    "stays",
    "habits",
    "aftermath",
    "debt",
    "recall",
    "asking",
    "sight",
    "foresee",
    "aim",
    "course",
    "book",
    "ruling",
    "optimism",
    "broken",
    "overcome",
    "pump",
    "ear",
    "heard",
    "exam",
    "appeal",
    "people",
    "person",
    "card",
    "surroundings",
    "given",
    "bell",
    "blocks",
    "beside",
    "inquiry",
    "porter",
    "guest",
    "house",
    "visitor",
    "clerk",
    "door",
    "sheet",
    "spelling",
    "roster",
    "watched",
    "look",
    "lesson",
    "board",
    "errand",
    "told",
    "said",
    "begun",
    "insight",
];

/// How many type names a crate uses more than once.
pub fn repeated(of: &Crate) -> Figures {
    let mut uses = BTreeMap::<String, usize>::new();
    for name in of.modules.iter().flat_map(types) {
        *uses.entry(name).or_default() += 1;
    }
    of_crate(of, uses.values().filter(|uses| **uses > 1).count())
}

/// How many types have a name that fits anything.
pub fn empty(of: &Crate) -> Figures {
    let names = of.modules.iter().flat_map(types);
    of_crate(
        of,
        names.filter(|name| EMPTY.contains(&name.as_str())).count(),
    )
}

/// How many files and types have a picture in their name.
pub fn pictures(of: &Crate) -> Figures {
    let files = of
        .modules
        .iter()
        .filter_map(|module| module.path.last().cloned());
    let names = files.chain(of.modules.iter().flat_map(types));
    let is_picture = |name: &String| words(name).any(|word| PICTURES.contains(&word.as_str()));
    of_crate(of, names.filter(is_picture).count())
}

fn of_crate(of: &Crate, figure: usize) -> Figures {
    Figures::from([(of.name.clone(), figure)])
}

/// The names of the types that a file defines.
fn types(module: &Module) -> impl Iterator<Item = String> + '_ {
    module.items.iter().filter_map(|item| match item {
        Item::Enum(it) => Some(it.ident.to_string()),
        Item::Struct(it) => Some(it.ident.to_string()),
        Item::Trait(it) => Some(it.ident.to_string()),
        Item::Type(it) => Some(it.ident.to_string()),
        Item::Union(it) => Some(it.ident.to_string()),
        _ => None,
    })
}

/// The words of a name, in lower case: of `WaitingPlace` and of `waiting_place`.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            spaced.push('_');
        }
        spaced.extend(letter.to_lowercase());
    }
    spaced
        .split('_')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_apart() {
        let found: Vec<_> = words("WaitingPlace").chain(words("lane_counts")).collect();
        assert_eq!(found, ["waiting", "place", "lane", "counts"]);
    }
}
