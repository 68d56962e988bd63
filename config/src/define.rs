//! The two macros with which `model.rs` defines settings. `settings!` makes a section's struct, its
//! defaults and its registry entries from one list. `choices!` makes an enum and its names.

/// Defines one section. Every line `name: Type = default, traits;` becomes a field of the struct, a
/// default and a [`Setting`](crate::Setting). Its doc comment is also the manual's text. `table` names
/// a table within the section, and the keys that may be given there.
macro_rules! settings {
    (
        $(#[doc = $about:literal])+
        pub struct $Section:ident in $table:tt, $title:literal {
            $( $(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr, $traits:expr; )+
        }
        $( sections as $sections:ident {
            $( $(#[doc = $part_doc:literal])+ $part:ident: $Part:ty, )+
        }
        lists {
            $( $(#[doc = $list_doc:literal])+ $list:ident: $List:ty, )+
        } )?
        $( below {
            $( $(#[doc = $below_doc:literal])+ $below:ident: $Below:ty, )+
        } )?
        $( $(#[doc = $group_doc:literal])+ table $group:ident: $Group:ty = $group_traits:expr,
            $elsewhere:literal { $($group_key:ident)+ }
        )?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Section {
            $( $(#[doc = $doc])+ pub $field: $type, )+
            $( $( $(#[doc = $part_doc])+ pub $part: $Part, )+
               $( $(#[doc = $list_doc])+ pub $list: $List, )+ )?
            $( $( $(#[doc = $below_doc])+ pub $below: $Below, )+ )?
            $( $(#[doc = $group_doc])+ pub $group: $Group, )?
        }

        impl Default for $Section {
            /// Every setting at its default.
            fn default() -> Self {
                Self {
                    $( $field: $default, )+
                    $( $( $part: <$Part>::default(), )+ $( $list: <$List>::default(), )+ )?
                    $( $( $below: <$Below>::default(), )+ )?
                    $( $group: <$Group>::default(), )?
                }
            }
        }

        $crate::define::registered!($Section $table $title [$($about)+] {
            $( [$($doc)+] $field: $type, $traits; )+
            $( table $group: $Group = $group_traits, $elsewhere { $($group_key)+ } )?
        });

        $( $( impl $crate::define::Has<$Part> for $Section {
            fn section(&self) -> &$Part {
                &self.$part
            }

            fn section_mut(&mut self) -> &mut $Part {
                &mut self.$part
            }
        } )+

        /// Every section of the configuration but the lists', in the manual's order.
        pub const $sections: &[$crate::Section<$Section>] = &[
            <$Section>::SECTION,
            $( <$Part as $crate::define::SectionOf<$Section>>::SECTION ),+
        ]; )?
    };
}

/// A configuration with a table of this kind.
pub(crate) trait Has<Part> {
    fn section(&self) -> &Part;
    fn section_mut(&mut self) -> &mut Part;
}

/// The registry entries of a table, for a configuration that has it.
pub(crate) trait SectionOf<Owner: 'static> {
    const SECTION: crate::Section<Owner>;
}

/// Registers a table's settings: for every configuration that has the table, or for the struct itself.
macro_rules! registered {
    ($Section:ident [$table:ident] $($rest:tt)*) => {
        impl<Owner: $crate::define::Has<$Section> + 'static> $crate::define::SectionOf<Owner>
            for $Section
        {
            const SECTION: $crate::Section<Owner> =
                $crate::define::section!(Owner $Section [$table] $($rest)*);
        }
    };
    ($Section:ident $table:tt $($rest:tt)*) => {
        impl $Section {
            /// This section's registry entries.
            pub const SECTION: $crate::Section<$Section> =
                $crate::define::section!($Section $Section $table $($rest)*);
        }
    };
}

/// The registry entries of a table's settings.
macro_rules! section {
    ($Owner:ident $Section:ident $table:tt $title:literal [$($about:literal)+] {
        $( [$($doc:literal)+] $field:ident: $type:ty, $traits:expr; )+
        $( table $group:ident: $Group:ty = $group_traits:expr, $elsewhere:literal {
            $($group_key:ident)+
        } )?
    }) => {
        $crate::Section {
            name: $crate::define::table_name!($table),
            title: $title,
            about: concat!($($about, "\n"),+),
            settings: &[ $( $crate::Setting {
                name: $crate::define::dotted_name!($table $field),
                key: stringify!($field),
                about: concat!($($doc, "\n"),+),
                kind: <$type as $crate::value::Value>::KIND,
                traits: $traits,
                read: |owner: &mut $Owner, given: &$crate::raw_setting::RawSetting<'_>| {
                    $crate::define::part_mut!(owner $Section $table).$field =
                        $crate::value::Value::read(given)?;
                    Ok(())
                },
                show: |owner: &$Owner| {
                    $crate::value::Value::to_toml(
                        &$crate::define::part!(owner $Section $table).$field,
                    )
                },
                expose: |owner: &$Owner| {
                    $crate::value::Value::exposed(
                        &$crate::define::part!(owner $Section $table).$field,
                    )
                },
                same: |one: &$Owner, other: &$Owner| {
                    $crate::define::part!(one $Section $table).$field
                        == $crate::define::part!(other $Section $table).$field
                },
                copy: |to: &mut $Owner, from: &$Owner| {
                    $crate::define::part_mut!(to $Section $table).$field =
                        $crate::define::part!(from $Section $table).$field.clone();
                },
            } ),+
            $( $( , $crate::define::setting_of_table!(
                $Owner $table $group $Group, $group_key $group_traits, $elsewhere
            ) )+ )? ],
        }
    };
}

/// A setting of a table within a list's table, such as `account.routing.cluster`. `$Group` defines its text, its
/// type and its range. The list defines when a change applies, and the default.
macro_rules! setting_of_table {
    ($Owner:ident $table:tt $group:ident $Group:ty, $key:ident $traits:expr, $elsewhere:literal) => {
        $crate::Setting {
            name: concat!(
                $crate::define::dotted_name!($table $group),
                ".",
                stringify!($key)
            ),
            key: concat!(stringify!($group), ".", stringify!($key)),
            about: <$Group>::setting(stringify!($key)).about,
            kind: <$Group>::setting(stringify!($key)).kind,
            traits: (<$Group>::setting(stringify!($key)).traits)
                .with_default_of($traits, $elsewhere),
            read: |owner: &mut $Owner, given: &$crate::raw_setting::RawSetting<'_>| {
                (<$Group>::setting(stringify!($key)).read)(&mut owner.$group, given)
            },
            show: |owner: &$Owner| (<$Group>::setting(stringify!($key)).show)(&owner.$group),
            expose: |owner: &$Owner| (<$Group>::setting(stringify!($key)).expose)(&owner.$group),
            same: |one: &$Owner, other: &$Owner| {
                (<$Group>::setting(stringify!($key)).same)(&one.$group, &other.$group)
            },
            copy: |to: &mut $Owner, from: &$Owner| {
                (<$Group>::setting(stringify!($key)).copy)(&mut to.$group, &from.$group);
            },
        }
    };
}

/// The struct that has a table's fields: a part of its owner, or the owner itself.
macro_rules! part {
    ($owner:ident $Section:ident [$table:ident]) => {
        $crate::define::Has::<$Section>::section($owner)
    };
    ($owner:ident $Section:ident $table:tt) => {
        $owner
    };
}

/// The same struct, mutably.
macro_rules! part_mut {
    ($owner:ident $Section:ident [$table:ident]) => {
        $crate::define::Has::<$Section>::section_mut($owner)
    };
    ($owner:ident $Section:ident $table:tt) => {
        $owner
    };
}

/// `limits.sessions_max`, `workers`, or `backend.weight`.
macro_rules! dotted_name {
    ([] $field:ident) => {
        stringify!($field)
    };
    ([$table:ident] $field:ident) => {
        concat!(stringify!($table), ".", stringify!($field))
    };
    ([[$list:ident $(.$below:ident)?]] $field:ident) => {
        concat!(stringify!($list), $( ".", stringify!($below), )? ".", stringify!($field))
    };
}

/// `limits`, `backend`, or nothing above all tables.
macro_rules! table_name {
    ([]) => {
        ""
    };
    ([$table:ident]) => {
        stringify!($table)
    };
    ([[$list:ident $(.$below:ident)?]]) => {
        concat!(stringify!($list) $(, ".", stringify!($below))?)
    };
}

/// Defines an enum whose values have names in the configuration. The first name is the name that is
/// shown; `also` names are read as well.
macro_rules! choices {
    (
        $(#[doc = $about:literal])+
        pub enum $Enum:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $name:literal $(also $($also:literal)|+)?, )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Enum { $( $(#[doc = $doc])+ $variant, )+ }

        impl $Enum {
            /// Every one, in order.
            pub const ALL: &[Self] = &[ $( Self::$variant ),+ ];

            /// Its name in the configuration.
            pub fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::value::Value for $Enum {
            const KIND: $crate::ValueType = $crate::ValueType::Choice(&[ $( $crate::Choice {
                name: $name,
                also: &[ $($($also),+)? ],
                about: concat!($($doc, "\n"),+),
            } ),+ ]);

            fn read(given: &$crate::raw_setting::RawSetting<'_>) -> Result<Self, Vec<$crate::Fault>> {
                given.choice_index(Self::KIND).map(|index| Self::ALL[index])
            }

            fn to_toml(&self) -> String {
                format!("\"{self}\"")
            }
        }
    };
}

pub(crate) use {
    choices, dotted_name, part, part_mut, registered, section, setting_of_table, settings,
    table_name,
};
