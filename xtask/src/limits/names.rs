//! Names of types and files: none twice in a crate, none that says nothing, none that is a picture where the field has
//! a word.

use std::collections::{BTreeMap, BTreeSet};

use syn::{ImplItem, Item, TraitItem, Visibility};

use super::Figures;
use super::source::{Crate, Module};

/// Type names that fit anything.
const EMPTY: &[&str] = &[
    "Item", "Kind", "Place", "Part", "Told", "Said", "Look", "Way", "Asked", "Known",
];

/// Names of functions and fields that fit anything.
const EMPTY_MEMBERS: &[&str] = &[
    "told", "said", "say", "says", "tell", "tells", "look", "looks", "asked", "known", "knows",
    "begun", "way", "ways", "place", "places", "part", "parts", "item", "thing", "others", "what",
    "who", "whom", "whose", "somebody", "nobody", "sight",
];

/// Parts of names that are pictures. Words that the field uses as well are not here: order, line, cut, prefix,
/// history, pooled.
const PICTURES: &[&str] = &[
    "desk",
    "shelf",
    "lent",
    "keeper",
    "ceiling",
    "ceilings",
    "turn",
    "growth",
    "pace",
    "paces",
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
    "owed",
    "owes",
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
    "hear",
    "hears",
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
    "inquire",
    "inquiry",
    "porter",
    "guest",
    "guests",
    "house",
    "visitor",
    "clerk",
    "door",
    "sheet",
    "spelling",
    "roster",
    "watched",
    "look",
    "looks",
    "looked",
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
    let names: BTreeSet<String> = repeated_types(of).map(|named| named.name).collect();
    of_crate(of, names.len())
}

/// The types whose name the crate uses more than once.
pub fn list_repeated(of: &Crate) -> Vec<String> {
    full_names(of, repeated_types(of))
}

/// How many types have a name that fits anything.
pub fn empty(of: &Crate) -> Figures {
    of_crate(of, empty_types(of).count())
}

/// The types whose name fits anything.
pub fn list_empty(of: &Crate) -> Vec<String> {
    full_names(of, empty_types(of))
}

/// How many functions and fields that others can use have a name that fits anything.
pub fn empty_members(of: &Crate) -> Figures {
    of_crate(of, list_empty_members(of).len())
}

/// The functions and fields that others can use and whose name fits anything.
pub fn list_empty_members(of: &Crate) -> Vec<String> {
    members_with(of, |name| EMPTY_MEMBERS.contains(&name))
}

/// The full names of the functions and fields that others can use and of which something holds.
fn members_with(of: &Crate, holds: impl Fn(&str) -> bool) -> Vec<String> {
    let named = of
        .modules
        .iter()
        .map(|module| (module, members(&module.items)));
    let full_names = named.flat_map(|(module, names)| {
        let found = names.into_iter().filter(|name| holds(name));
        found
            .map(|name| module.item(&of.name, &name))
            .collect::<Vec<_>>()
    });
    full_names.collect()
}

/// How many functions and fields that others can use have a picture in their name.
pub fn pictured_members(of: &Crate) -> Figures {
    of_crate(of, list_pictured_members(of).len())
}

/// The functions and fields that others can use and that have a picture in their name.
pub fn list_pictured_members(of: &Crate) -> Vec<String> {
    members_with(of, |name| {
        words(name).any(|word| PICTURES.contains(&word.as_str()))
    })
}

/// How many files and types have a picture in their name.
pub fn pictures(of: &Crate) -> Figures {
    of_crate(of, pictured(of).count())
}

/// The files and types that have a picture in their name.
pub fn list_pictures(of: &Crate) -> Vec<String> {
    full_names(of, pictured(of))
}

/// A type or a file of a crate.
struct Named<'a> {
    module: &'a Module,
    name: String,
    is_file: bool,
}

fn repeated_types(of: &Crate) -> impl Iterator<Item = Named<'_>> {
    let mut uses = BTreeMap::<String, usize>::new();
    for named in types(of) {
        *uses.entry(named.name).or_default() += 1;
    }
    types(of).filter(move |named| uses.get(&named.name).is_some_and(|uses| *uses > 1))
}

fn empty_types(of: &Crate) -> impl Iterator<Item = Named<'_>> {
    types(of).filter(|named| EMPTY.contains(&named.name.as_str()))
}

fn pictured(of: &Crate) -> impl Iterator<Item = Named<'_>> {
    let files = of.modules.iter().filter_map(|module| {
        Some(Named {
            module,
            name: module.path.last()?.clone(),
            is_file: true,
        })
    });
    let names = files.chain(types(of));
    names.filter(|named| words(&named.name).any(|word| PICTURES.contains(&word.as_str())))
}

fn of_crate(of: &Crate, figure: usize) -> Figures {
    Figures::from([(of.name.clone(), figure)])
}

/// The full names of types and files: `engine::kill::Target`.
fn full_names<'a>(of: &Crate, names: impl Iterator<Item = Named<'a>>) -> Vec<String> {
    let full_name = |named: Named<'_>| {
        if named.is_file {
            format!("{} (file)", named.module.file(&of.name))
        } else {
            named.module.item(&of.name, &named.name)
        }
    };
    names.map(full_name).collect()
}

/// The types that a crate defines.
fn types(of: &Crate) -> impl Iterator<Item = Named<'_>> {
    of.modules.iter().flat_map(|module| {
        type_names(module).map(move |name| Named {
            module,
            name,
            is_file: false,
        })
    })
}

/// The names of the types that a file defines.
fn type_names(module: &Module) -> impl Iterator<Item = String> + '_ {
    module.items.iter().filter_map(|item| match item {
        Item::Enum(it) => Some(it.ident.to_string()),
        Item::Struct(it) => Some(it.ident.to_string()),
        Item::Trait(it) => Some(it.ident.to_string()),
        Item::Type(it) => Some(it.ident.to_string()),
        Item::Union(it) => Some(it.ident.to_string()),
        _ => None,
    })
}

/// The functions, methods and fields of a file that are not private, without those of traits that others define.
fn members(items: &[Item]) -> Vec<String> {
    let is_open = |visibility: &Visibility| !matches!(visibility, Visibility::Inherited);
    let mut names = Vec::new();
    for item in items {
        match item {
            Item::Fn(it) if is_open(&it.vis) => names.push(it.sig.ident.to_string()),
            Item::Struct(it) => {
                let open = it.fields.iter().filter(|field| is_open(&field.vis));
                names.extend(open.filter_map(|field| Some(field.ident.as_ref()?.to_string())));
            }
            Item::Impl(it) if it.trait_.is_none() => {
                names.extend(it.items.iter().filter_map(|item| match item {
                    ImplItem::Fn(it) if is_open(&it.vis) => Some(it.sig.ident.to_string()),
                    _ => None,
                }));
            }
            Item::Trait(it) if is_open(&it.vis) => {
                names.extend(it.items.iter().filter_map(|item| match item {
                    TraitItem::Fn(it) => Some(it.sig.ident.to_string()),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    names
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
    fn open_functions_and_fields_are_found() {
        let text = "pub struct A { pub told: u8, said: u8 } impl A { pub(crate) fn look(&self) {} fn way(&self) {} }
            pub trait B { fn asked(&self); } impl B for A { fn asked(&self) {} } pub fn known() {} fn place() {}";
        let module = Module::of_text(&[], text);
        assert_eq!(members(&module.items), ["told", "look", "asked", "known"]);
    }

    #[test]
    fn a_name_is_split_into_words() {
        let found: Vec<_> = words("WaitingPlace").chain(words("lane_counts")).collect();
        assert_eq!(found, ["waiting", "place", "lane", "counts"]);
    }
}
