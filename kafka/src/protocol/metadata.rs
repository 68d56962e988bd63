//! Metadata: the brokers, and the leader of a topic's partition.

use super::{AnswerError, Api, Input, put_text};

/// Version 4 has the field that allows the brokers to create the topic.
pub const API: Api = Api {
    name: "Metadata",
    key: 3,
    min: 4,
    max: 4,
};

/// How many brokers of an answer are read. A Kafka cluster has fewer; further ones are ignored.
const BROKERS_MAX: usize = 1024;

/// A broker's answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    pub throttle_ms: i32,
    pub brokers: Vec<Broker>,
    /// The topic of the request.
    pub topic: Option<Topic>,
}

/// A broker and its address.
#[derive(Debug, PartialEq, Eq)]
pub struct Broker {
    pub id: i32,
    pub host: String,
    pub port: u16,
}

/// A topic, with the leader of its partition [`super::produce::PARTITION`].
#[derive(Debug, PartialEq, Eq)]
pub struct Topic {
    /// The error code of the topic; if that is 0, the error code of the partition.
    pub code: i16,
    /// The broker that leads the partition; -1 if none does.
    pub leader: i32,
}

/// Returns the request, for a topic or only for the brokers. The brokers may create the topic.
pub fn request(topic: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(i32::from(topic.is_some()).to_be_bytes());
    if let Some(topic) = topic {
        put_text(&mut out, topic);
    }
    out.push(1);
    out
}

/// # Errors
/// The bytes are not a valid answer.
pub fn answer(bytes: &[u8]) -> Result<Metadata, AnswerError> {
    let mut input = Input(bytes);
    let mut metadata = Metadata {
        throttle_ms: input.i32("throttle time")?,
        ..Metadata::default()
    };
    input.each("brokers", |input| {
        let id = input.i32("broker id")?;
        let host = input.text("host")?;
        let port = u16::try_from(input.i32("port")?).map_err(|_| AnswerError::Length("port"))?;
        input.optional_text("rack")?;
        if metadata.brokers.len() < BROKERS_MAX {
            let host = host.to_owned();
            metadata.brokers.push(Broker { id, host, port });
        }
        Ok(())
    })?;
    input.optional_text("cluster id")?;
    input.i32("controller")?;
    input.each("topics", |input| {
        let topic = topic(input)?;
        metadata.topic.get_or_insert(topic);
        Ok(())
    })?;
    Ok(metadata)
}

fn topic(input: &mut Input<'_>) -> Result<Topic, AnswerError> {
    let mut topic = Topic {
        code: input.i16("error code of the topic")?,
        leader: -1,
    };
    input.text("topic")?;
    input.bytes(1, "kind of the topic")?;
    input.each("partitions", |input| {
        let code = input.i16("error code of the partition")?;
        let number = input.i32("partition")?;
        let leader = input.i32("leader")?;
        for what in ["replicas", "in-sync replicas"] {
            input.each(what, |input| input.i32(what).map(drop))?;
        }
        if number == super::produce::PARTITION {
            topic.leader = leader;
            if topic.code == 0 {
                topic.code = code;
            }
        }
        Ok(())
    })?;
    Ok(topic)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Two brokers; a topic of two partitions, of which the first is led by the second broker.
    pub fn answer() -> Vec<u8> {
        let mut out = Vec::new();
        let i32s = |out: &mut Vec<u8>, all: &[i32]| {
            out.extend(all.iter().flat_map(|it| it.to_be_bytes()));
        };
        i32s(&mut out, &[250, 2]);
        for (id, host, rack) in [(1, "one", None), (2, "two", Some("rack"))] {
            i32s(&mut out, &[id]);
            put_text(&mut out, host);
            i32s(&mut out, &[9092]);
            match rack {
                Some(rack) => put_text(&mut out, rack),
                None => crate::protocol::put_no_text(&mut out),
            }
        }
        put_text(&mut out, "cluster");
        i32s(&mut out, &[1, 1]);
        out.extend(0_i16.to_be_bytes());
        put_text(&mut out, "topic");
        out.push(0);
        i32s(&mut out, &[2]);
        for (code, number, leader) in [(0_i16, 1, 1), (9, 0, 2)] {
            out.extend(code.to_be_bytes());
            i32s(&mut out, &[number, leader, 2, 1, 2, 1, leader]);
        }
        out
    }

    #[test]
    fn metadata_has_the_brokers_and_the_leader_of_the_first_partition() {
        let metadata = super::answer(&answer()).unwrap();
        let broker = |id, host: &str| Broker {
            id,
            host: host.to_owned(),
            port: 9092,
        };
        let expected = Metadata {
            throttle_ms: 250,
            brokers: vec![broker(1, "one"), broker(2, "two")],
            topic: Some(Topic { code: 9, leader: 2 }),
        };
        assert_eq!(metadata, expected);
    }
}
