//! From definitions to the effects of each object, with the effects of all objects that it uses: a view over a view,
//! a function that calls a function.

use std::collections::HashMap;

use route::{ClusterDefinitions, Listed, OnTable, fold};
use session::state::{Expression, Named, Use};
use sql::Does;

/// What kind of object is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinitionKind {
    View,
    Function,
    Procedure,
    Trigger,
    /// A column's default.
    Default,
    /// A generated column.
    Generated,
}

/// An object that has a definition.
#[derive(Debug)]
pub(super) struct Object {
    pub kind: DefinitionKind,
    pub schema: Vec<u8>,
    pub name: Vec<u8>,
    /// The table of a trigger or column.
    pub table: Option<(Vec<u8>, Vec<u8>)>,
    pub expression: Expression,
    /// The account may not see its definition.
    pub is_hidden: bool,
}

/// What a statement does with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Event {
    Read,
    Written,
    Called,
    CalledProcedure,
}

type TriggerKey = (Event, Box<[u8]>);

/// The effects of one event on one name, from all definitions that concern it.
#[derive(Debug, Default)]
struct Node {
    does: Does,
    why: Option<String>,
    /// The nodes that use this node, so they have its effects too.
    users: Vec<usize>,
}

#[derive(Default)]
struct Graph {
    numbers: HashMap<TriggerKey, usize>,
    nodes: Vec<Node>,
    names: Vec<String>,
    is_defined: Vec<bool>,
}

/// The effects of each object.
pub(super) fn resolve(objects: Vec<Object>) -> ClusterDefinitions {
    let mut graph = Graph::default();
    for object in &objects {
        graph.define(object);
    }
    graph.doubt_unknown();
    graph.spread();
    graph.cluster_definitions(&objects)
}

impl Graph {
    fn number(&mut self, event: Event, schema: &[u8], name: &[u8]) -> usize {
        let key = (event, fold(schema, name));
        let next = self.nodes.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            self.nodes.push(Node::default());
            self.names.push(format!("{}.{}", text(schema), text(name)));
            self.is_defined.push(false);
        }
        number
    }

    fn define(&mut self, object: &Object) {
        for event in events(object.kind) {
            let number = self.node_of(object, *event);
            self.is_defined[number] = true;
            self.contribute(number, object);
        }
        if object.kind == DefinitionKind::View {
            self.write_through(object);
        }
    }

    fn node_of(&mut self, object: &Object, event: Event) -> usize {
        match &object.table {
            Some((schema, table)) => self.number(event, schema, table),
            None => self.number(event, &object.schema, &object.name),
        }
    }

    fn contribute(&mut self, number: usize, object: &Object) {
        let own = object.expression.does;
        let node = &mut self.nodes[number];
        if !own.only_reads() && node.why.is_none() {
            node.why = Some(why(own));
        }
        node.does = node.does.and(own);
        for named in &object.expression.names {
            let schema = named.schema.as_deref().unwrap_or(&object.schema);
            for event in uses(named) {
                let used = self.number(*event, schema, &named.name);
                self.nodes[used].users.push(number);
            }
        }
    }

    /// A write to a view goes to the view's tables.
    fn write_through(&mut self, object: &Object) {
        let view = self.number(Event::Written, &object.schema, &object.name);
        for named in &object.expression.names {
            if named.how == Use::Read {
                let schema = named.schema.as_deref().unwrap_or(&object.schema);
                let table = self.number(Event::Written, schema, &named.name);
                self.nodes[table].users.push(view);
            }
        }
    }

    /// A function or procedure without a visible definition may do anything: it is loadable, or the account may not see
    /// it.
    fn doubt_unknown(&mut self) {
        let called = self.numbers.iter().filter(|((event, _), number)| {
            let is_called = matches!(event, Event::Called | Event::CalledProcedure);
            is_called && !self.is_defined[**number]
        });
        for (_, number) in called {
            let node = &mut self.nodes[*number];
            node.does = Does::ANYTHING;
            node.why = Some("its definition is not known".to_owned());
        }
    }

    /// Adds the effects of each node to all nodes that use it.
    fn spread(&mut self) {
        let mut changed: Vec<usize> = (0..self.nodes.len())
            .filter(|it| !self.nodes[*it].does.only_reads())
            .collect();
        while let Some(number) = changed.pop() {
            let does = self.nodes[number].does;
            let name = self.names[number].clone();
            for at in 0..self.nodes[number].users.len() {
                let user = self.nodes[number].users[at];
                let node = &mut self.nodes[user];
                let together = node.does.and(does);
                if together != node.does {
                    node.does = together;
                    node.why.get_or_insert_with(|| format!("it uses {name}"));
                    changed.push(user);
                }
            }
        }
    }

    fn cluster_definitions(&self, objects: &[Object]) -> ClusterDefinitions {
        let mut known = ClusterDefinitions::default();
        for ((event, key), number) in &self.numbers {
            let does = self.nodes[*number].does;
            match event {
                Event::Read if !does.only_reads() => {
                    known
                        .tables
                        .entry(key.clone())
                        .or_insert_with(OnTable::default)
                        .read = does;
                }
                // A write is at the primary anyway.
                Event::Written if does.leaves => {
                    known
                        .tables
                        .entry(key.clone())
                        .or_insert_with(OnTable::default)
                        .written = does;
                }
                Event::CalledProcedure if does.leaves => {
                    known.procedures.insert(key.clone(), does);
                }
                _ => {}
            }
        }
        known.listed = objects.iter().filter_map(|it| self.listed(it)).collect();
        known
            .listed
            .sort_by(|a, b| (&a.schema, &a.name, a.kind).cmp(&(&b.schema, &b.name, b.kind)));
        known
    }

    /// The list entry of an object that does more than read; of a trigger or default, one that leaves something in its
    /// session.
    fn listed(&self, object: &Object) -> Option<Listed> {
        let event = *events(object.kind).first()?;
        let name = object.table.as_ref();
        let (schema, table) = name.map_or((&object.schema, &object.name), |(a, b)| (a, b));
        let number = *self.numbers.get(&(event, fold(schema, table)))?;
        let node = self.nodes.get(number)?;
        let does = match &object.table {
            // Other triggers may belong to the same table, so the table's node is not this object's.
            Some(_) => self.with_names(object),
            None => node.does,
        };
        if does.only_reads() {
            return None;
        }
        let own = object.expression.does;
        let because = match own.only_reads() {
            true => node.why.clone().unwrap_or_default(),
            false => why(own),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(Listed {
            kind: object.kind.name(),
            schema: text(&object.schema),
            name: text(&object.name),
            does,
            why: because,
        })
    }

    /// The effects of a trigger or column together with those of the objects that it names.
    fn with_names(&self, object: &Object) -> Does {
        let mut does = object.expression.does;
        for named in &object.expression.names {
            let schema = named.schema.as_deref().unwrap_or(&object.schema);
            for event in uses(named) {
                let key = (*event, fold(schema, &named.name));
                if let Some(number) = self.numbers.get(&key) {
                    does = does.and(self.nodes[*number].does);
                }
            }
        }
        does
    }
}

impl DefinitionKind {
    fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Function => "function",
            Self::Procedure => "procedure",
            Self::Trigger => "trigger",
            Self::Default => "default",
            Self::Generated => "generated column",
        }
    }
}

/// The events at which a definition is evaluated.
fn events(kind: DefinitionKind) -> &'static [Event] {
    match kind {
        DefinitionKind::View => &[Event::Read],
        DefinitionKind::Function => &[Event::Called],
        DefinitionKind::Procedure => &[Event::CalledProcedure],
        DefinitionKind::Trigger | DefinitionKind::Default => &[Event::Written],
        DefinitionKind::Generated => &[Event::Read, Event::Written],
    }
}

fn uses(named: &Named) -> &'static [Event] {
    match named.how {
        Use::Read => &[Event::Read],
        Use::Written => &[Event::Read, Event::Written],
        Use::Function => &[Event::Called],
        Use::Procedure => &[Event::CalledProcedure],
    }
}

fn why(does: Does) -> String {
    let text = match does {
        Does { leaves: true, .. } => "it leaves something in its session, or is not understood",
        Does { writes: true, .. } => "it writes",
        _ => "it asks what differs between servers, or reads variables",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::state::{of_expression, of_routine};
    use sql::Flags;

    fn object(kind: DefinitionKind, name: &str, text: &str) -> Object {
        let flags = Flags::default();
        let expression = match kind {
            DefinitionKind::View => of_expression(text.as_bytes(), flags),
            _ => of_routine(text.as_bytes(), &[], flags),
        };
        Object {
            kind,
            schema: b"d".to_vec(),
            name: name.as_bytes().to_vec(),
            table: (kind == DefinitionKind::Trigger).then(|| (b"d".to_vec(), b"T".to_vec())),
            expression,
            is_hidden: false,
        }
    }

    /// A view `v` that calls a function `f`, which writes a table.
    fn view_that_writes(table: &str) -> Vec<Object> {
        let body = format!("BEGIN INSERT INTO {table} VALUES (1); RETURN 1; END");
        vec![
            object(DefinitionKind::View, "v", "select `f`() AS `a`"),
            object(DefinitionKind::Function, "f", &body),
        ]
    }

    fn listed(known: &ClusterDefinitions) -> Vec<String> {
        let all = known.listed.iter();
        all.map(|it| format!("{} {} {}: {}", it.kind, it.name, it.does, it.why))
            .collect()
    }

    #[test]
    fn effects_of_an_object_are_inherited_by_its_users() {
        let known = resolve(vec![
            object(
                DefinitionKind::View,
                "v3",
                "select `v2`.`a` AS `a` from `d`.`v2`",
            ),
            object(
                DefinitionKind::View,
                "v2",
                "select `f`() AS `a` from `d`.`t`",
            ),
            object(DefinitionKind::Function, "f", "RETURN d.G(1)"),
            object(
                DefinitionKind::Function,
                "g",
                "BEGIN DO GET_LOCK('a', 0); RETURN 1; END",
            ),
            object(
                DefinitionKind::View,
                "harmless",
                "select `h`(`a`) AS `a` from `d`.`t`",
            ),
            object(
                DefinitionKind::Function,
                "h",
                "RETURN (SELECT MAX(a) FROM t)",
            ),
            object(DefinitionKind::View, "loaded", "select `udf`(1) AS `a`"),
        ]);
        assert_eq!(
            listed(&known),
            [
                "function f anything: it uses d.G",
                "function g anything: it leaves something in its session, or is not understood",
                "view loaded anything: it uses d.udf",
                "view v2 anything: it uses d.f",
                "view v3 anything: it uses d.v2",
            ]
        );
        for name in ["v2", "v3", "loaded"] {
            let on = known.tables.get(&fold(b"d", name.as_bytes())).unwrap();
            assert!(on.read.leaves, "{name}");
        }
        assert_eq!(known.tables.len(), 3);
    }

    #[test]
    fn a_function_that_only_writes_makes_its_view_one_for_the_primary() {
        let known = resolve(view_that_writes("log"));
        let on = known.tables.get(&fold(b"d", b"v")).unwrap();
        assert!(on.read.writes && !on.read.leaves);
    }

    #[test]
    fn triggers_are_run_by_writes_of_their_table_and_of_views_over_it() {
        let mut objects = vec![
            object(
                DefinitionKind::Trigger,
                "takes",
                "SET @x = GET_LOCK('a', 0)",
            ),
            object(
                DefinitionKind::Trigger,
                "computes",
                "SET NEW.a = UPPER(NEW.b)",
            ),
            object(
                DefinitionKind::View,
                "over",
                "select `t`.`a` AS `a` from `d`.`t`",
            ),
            object(DefinitionKind::Procedure, "p", "BEGIN DELETE FROM T; END"),
        ];
        objects.extend(view_that_writes("t"));
        let known = resolve(objects);
        for name in ["t", "over"] {
            let on = known.tables.get(&fold(b"d", name.as_bytes())).unwrap();
            assert_eq!(
                (on.read.only_reads(), on.written.leaves),
                (true, true),
                "{name}"
            );
        }
        assert!(known.tables.get(&fold(b"d", b"v")).unwrap().read.leaves);
        assert!(known.procedures.contains_key(&fold(b"d", b"p")));
        let kinds: Vec<_> = known.listed.iter().map(|it| &*it.name).collect();
        assert_eq!(kinds, ["f", "p", "takes", "v"]);
    }

    #[test]
    fn definitions_that_call_each_other_in_a_cycle_are_resolved() {
        let known = resolve(vec![
            object(DefinitionKind::Procedure, "a", "BEGIN CALL b(); END"),
            object(
                DefinitionKind::Procedure,
                "b",
                "BEGIN CALL a(); DO RELEASE_ALL_LOCKS(); END",
            ),
        ]);
        assert_eq!(known.procedures.len(), 2);
    }
}
