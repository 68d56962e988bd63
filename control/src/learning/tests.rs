use super::*;

fn at(milliseconds: u64) -> Moment {
    Moment(Duration::from_millis(milliseconds))
}

fn config(learn: bool) -> Config {
    let mut config = Config::default();
    config.accounts.learn = learn;
    config.accounts.learn_interval = Duration::from_secs(30);
    config
}

fn learning() -> Learning {
    let mut learning = Learning::new(1);
    learning.apply(&config(true), at(0));
    learning
}

fn nothing_new() -> Result<LoadedAccounts, LoadError> {
    Ok(LoadedAccounts {
        backend: "db".to_owned(),
        news: None,
    })
}

fn in_vain() -> Result<LoadedAccounts, LoadError> {
    Err(LoadError {
        backend: None,
        cause: "no backend is up".to_owned(),
        missing: None,
    })
}

/// Begins the due attempt and ends it at once.
fn attempt(learning: &mut Learning, outcome: &Result<LoadedAccounts, LoadError>, now: Moment) {
    let epoch = learning.begin(now).unwrap();
    assert!(matches!(
        learning.ended(epoch, outcome, now),
        Attempt::Counts { .. }
    ));
}

#[test]
fn accounts_are_learned_at_once_and_then_from_time_to_time() {
    let mut learning = learning();
    assert_eq!(learning.next(), Some(at(0)));
    attempt(&mut learning, &nothing_new(), at(0));
    assert_eq!(learning.next(), Some(at(30_000)));
    assert_eq!(learning.begin(at(29_999)), None);
    attempt(&mut learning, &nothing_new(), at(30_000));
}

#[test]
fn a_requested_account_is_learned_at_once_but_once_a_second_at_most() {
    let mut learning = learning();
    attempt(&mut learning, &nothing_new(), at(0));
    learning.request(at(400));
    learning.request(at(500));
    assert_eq!(learning.next(), Some(at(1_000)));
    attempt(&mut learning, &nothing_new(), at(1_000));
    assert_eq!(learning.next(), Some(at(31_000)));
    learning.request(at(9_000));
    assert_eq!(learning.next(), Some(at(9_000)));
}

/// The attempt may have read the accounts before the request.
#[test]
fn a_request_during_an_attempt_to_learn_accounts_starts_another() {
    let mut learning = learning();
    let epoch = learning.begin(at(0)).unwrap();
    learning.request(at(100));
    assert_eq!(learning.next(), None);
    let _ = learning.ended(epoch, &nothing_new(), at(200));
    assert_eq!(learning.next(), Some(at(1_000)));
}

#[test]
fn failed_learning_is_retried_with_growing_delays() {
    let mut learning = learning();
    let mut now = at(0);
    let mut waits = Vec::new();
    for _ in 0..8 {
        attempt(&mut learning, &in_vain(), now);
        let next = learning.next().unwrap();
        waits.push(next.0 - now.0);
        now = next;
    }
    assert!(waits[0] <= Duration::from_secs(1), "{waits:?}");
    let is_longer = |pair: &[Duration]| pair[0] <= pair[1] || pair[1] > Duration::from_secs(20);
    assert!(waits.windows(2).all(is_longer), "{waits:?}");
    assert!(waits[7] <= Duration::from_secs(30), "{waits:?}");
}

#[test]
fn no_account_is_learned_if_learning_is_off() {
    let mut learning = Learning::new(1);
    learning.apply(&config(false), at(0));
    learning.request(at(1));
    assert_eq!(learning.next(), None);
}

#[test]
fn answers_to_questions_before_a_reload_are_ignored() {
    let mut learning = learning();
    let epoch = learning.begin(at(0)).unwrap();
    learning.apply(&config(true), at(10));
    assert_eq!(
        learning.ended(epoch, &nothing_new(), at(20)),
        Attempt::Outdated
    );
    assert_eq!(learning.next(), Some(at(10)), "it is done again at once");

    let epoch = learning.begin(at(20)).unwrap();
    learning.apply(&config(false), at(30));
    assert_eq!(
        learning.ended(epoch, &nothing_new(), at(40)),
        Attempt::Outdated
    );
    assert_eq!(learning.next(), None);
}

#[test]
fn the_most_frequent_reasons_are_shown() {
    let reasons = |counts: &[usize]| {
        let reasons = counts.iter().enumerate();
        reasons
            .map(|(at, count)| (format!("reason {at}"), *count))
            .collect()
    };
    assert_eq!(shown(&reasons(&[])), None);
    let two = shown(&reasons(&[1, 3]));
    assert_eq!(two.as_deref(), Some("3 × reason 1, 1 × reason 0"));
    let many = shown(&reasons(&[1, 1, 1, 1, 1, 9])).unwrap();
    assert!(
        many.starts_with("9 × reason 5") && many.ends_with(", …"),
        "{many}"
    );
}
