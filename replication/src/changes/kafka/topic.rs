//! The names of topics.

use config::KafkaConfig;

use crate::changes::translator::ChangeSubject;

/// The maximum length of a topic's name; Kafka's own limit.
const LENGTH_MAX: usize = 249;

/// The topics of one Kafka cluster.
pub struct Topics {
    rows: String,
    statements: String,
}

impl Topics {
    /// Fills in the settings for a cluster of servers.
    pub fn new(settings: &KafkaConfig, cluster: &str) -> Self {
        let cluster = legal(cluster);
        let fill = |topic: &str| topic.replace("{cluster}", &cluster);
        Self {
            rows: fill(&settings.topic),
            statements: fill(&settings.topic_statements),
        }
    }

    /// Returns the topic of a change.
    pub fn of(&self, subject: &ChangeSubject) -> String {
        let Some((schema, table)) = &subject.table else {
            return cut(self.statements.clone());
        };
        let filled = self.rows.replace("{schema}", &legal(schema));
        cut(filled.replace("{table}", &legal(table)))
    }
}

/// Replaces characters that a topic cannot have by underscores. Braces too, so a table's name cannot be a placeholder.
fn legal(name: &str) -> String {
    let is_legal = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
    let characters = name.chars();
    characters
        .map(|it| if is_legal(it) { it } else { '_' })
        .collect()
}

/// Shortens a name. All characters are ASCII here, so any byte is a character boundary.
fn cut(mut topic: String) -> String {
    topic.truncate(LENGTH_MAX);
    topic
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(pattern: &str, table: Option<(&str, &str)>) -> String {
        let settings = KafkaConfig {
            topic: pattern.to_owned(),
            ..KafkaConfig::default()
        };
        let subject = ChangeSubject {
            table: table.map(|(schema, table)| (schema.to_owned(), table.to_owned())),
            key: None,
        };
        Topics::new(&settings, "main").of(&subject)
    }

    #[test]
    fn a_topic_has_the_names_of_cluster_schema_and_table_and_legal_characters_only() {
        let usual = KafkaConfig::default().topic;
        assert_eq!(topic(&usual, Some(("shop", "orders"))), "main.shop.orders");
        assert_eq!(topic(&usual, None), "main");
        assert_eq!(topic("all", Some(("shop", "orders"))), "all");
        assert_eq!(
            topic(&usual, Some(("{table}", "größe 1"))),
            "main._table_.gr__e_1"
        );
        let long = "x".repeat(300);
        assert_eq!(topic(&usual, Some(("shop", &long))).len(), LENGTH_MAX);
    }
}
