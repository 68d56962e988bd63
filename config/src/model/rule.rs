//! Rules: which statements are meant, and what is done about them. What belongs to a rule's tests is at the end.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;

use super::accounts::PinRule;
use super::balance::ReplicaUse;
use super::routing::RoutingOverride;
use super::units::{DAY, HOUR, MS};
use crate::define::{choices, settings};
use crate::{Cell, ListenAddress, SqlText, TimeOfDay, TimeSpan, Traits};

settings! {
    /// Rules, one `[[rule]]` table for each, looked at in their order; see [Rules](rules.md). A
    /// statement matches when all that the rule says of statements holds; of a list one entry has
    /// to. A rule that says nothing of statements matches them all.
    pub struct RuleConfig in [[rule]], "Rules" {
        /// Its name in logs, counters and explanations; unique.
        name: String = String::new(), Traits::RELOAD.required();

        /// Users, by the names with which they log in. Here and in `schema`, `tables` and `tag` a
        /// `*` stands for any characters, and an entry that begins with `!` takes out those that it
        /// matches.
        user: Vec<String> = Vec::new(), Traits::RELOAD;

        /// The session's default schema when the statement runs. Case does not matter.
        schema: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Networks of clients. A client on a Unix socket is in none.
        networks: Vec<IpNet> = Vec::new(), Traits::RELOAD;

        /// The listener to which the client has connected: addresses as in `listen` or `[[listener]]`.
        listener: Vec<ListenAddress> = Vec::new(), Traits::RELOAD;

        /// Digests: any statement of the kind meant (its values do not matter), a digest's text, or
        /// its hash as `"0x"` and 16 hexadecimal digits.
        digest: Vec<SqlText> = Vec::new(), Traits::RELOAD;

        /// Regular expression that the statement's text has to match somewhere. Case does not matter
        /// and `.` matches line ends, unless it says `(?-i)` or `(?-s)`. It is one of bytes: `(?u)`
        /// has it know letters that are not ASCII.
        regex: Option<SqlText> = None, Traits::RELOAD;

        /// The same for the digest's text.
        digest_regex: Option<SqlText> = None, Traits::RELOAD;

        /// The kind of the statement: `"SELECT"`, `"INSERT"`, `"CREATE TABLE"`; `"CREATE"` is each that
        /// begins so. Of several statements sent as one, one has to be of the kind.
        kind: Vec<String> = Vec::new(), Traits::RELOAD;

        /// A table that the statement names: `"orders"`, `"shop.orders"`, `"shop.*"`. If the statement names
        /// no schema, it is the session's. Case does not matter.
        tables: Vec<String> = Vec::new(), Traits::RELOAD;

        /// A tag of the statement. It comes from a comment, `/* tag: batch */` or `/* pilotfish:
        /// tag=batch */`, or as `"key=value"` from a comment in the style of sqlcommenter. Or it comes
        /// from a query attribute: the value of one named `tag`, `"name=value"` of the others.
        tag: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Local time of day, from the first to just before the second: `"22:00-06:00"`.
        time: Option<TimeSpan> = None, Traits::RELOAD;

        /// Days of the week. A `time` past midnight belongs to the day on which it began.
        days: Vec<Day> = Vec::new(), Traits::RELOAD;

        /// How many of a hundred that match otherwise do match.
        percentage: Option<f64> = None, Traits::RELOAD.within(0, 100).default_text("all of them");

        /// The unit of `percentage`.
        percentage_of: Share = Share::Session, Traits::RELOAD;

        /// Backend to which it goes.
        backend: Option<String> = None, Traits::RELOAD;

        /// The statement that runs in its place. With `regex` each match is replaced by this, in which `$1`
        /// or `${name}` is what a group has matched and `$$` a dollar sign; with `digest` alone the whole
        /// statement is. The new text must be one statement: if it is not, the client gets an error.
        rewrite: Option<SqlText> = None, Traits::RELOAD;

        /// The answer to the client, without a question to a backend.
        answer: Option<AnswerForm> = None, Traits::RELOAD;

        /// Names of the columns of `answer = "rows"`.
        answer_columns: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Its rows: `[["1", "one"], [2, '\N']]`. All values are texts; `'\N'` is NULL.
        answer_rows: Vec<Vec<Cell>> = Vec::new(), Traits::RELOAD;

        /// Number of the error of `answer = "error"`.
        answer_error: Option<u16> = None,
            Traits::RELOAD.within(1, 65_535).default_text("1105");

        /// Its SQLSTATE, five digits and capital letters.
        answer_sqlstate: Option<String> = None, Traits::RELOAD.default_text("HY000");

        /// Its text.
        answer_message: Option<SqlText> = None, Traits::RELOAD;

        /// Refuses the statement with error 1227 and this text.
        refuse: Option<SqlText> = None, Traits::RELOAD;

        /// How long the statement may run before it is ended.
        timeout: Option<Duration> = None, Traits::RELOAD.within(MS, DAY);

        /// How long it waits before it is sent.
        delay: Option<Duration> = None, Traits::RELOAD.within(MS, HOUR);

        /// Statements in a second.
        rate: Option<f64> = None, Traits::RELOAD.within(0, 1_000_000_000);

        /// Statements that may come at once after a quiet time, under `rate`.
        burst: Option<u32> = None,
            Traits::RELOAD.within(1, 1_000_000_000).nothing("a second's worth, at least one");

        /// Statements at the same time.
        concurrency: Option<u32> = None, Traits::RELOAD.within(1, 1_000_000).nothing("no limit");

        /// Which statements `rate` and `concurrency` count together.
        rate_by: LimitBy = LimitBy::Rule, Traits::RELOAD;

        /// How the proxy treats a statement over one of the two.
        on_limit: OnLimit = OnLimit::Queue, Traits::RELOAD;

        /// How long it waits at most under `on_limit = "queue"` before its client gets an error.
        timeout_queue: Duration = Duration::from_secs(10), Traits::RELOAD.within(MS, HOUR);

        /// Cluster to which the statement is sent as well. The proxy discards the reply.
        mirror: Option<String> = None, Traits::RELOAD;

        /// Statements that are sent before it, on its connection: they may read (SELECT, SHOW, EXPLAIN),
        /// and set variables that only look on, such as `profiling`, which are set back afterwards.
        /// `EXPLAIN {statement}` explains the statement itself.
        before: Vec<SqlText> = Vec::new(), Traits::RELOAD;

        /// The same behind it. Here `SHOW WARNINGS` shows those of the statement.
        after: Vec<SqlText> = Vec::new(), Traits::RELOAD;

        /// How the results of `before` and `after` are logged. The client never sees them.
        injected: InjectedResults = InjectedResults::Log, Traits::RELOAD;

        /// How long each statement of `before` and `after` may take before it is killed.
        timeout_injected: Duration = Duration::from_secs(1), Traits::RELOAD.within(MS, HOUR);

        /// The longest result of `before` and `after` that is read, in bytes; a longer one is dropped.
        injected_bytes_max: u64 = 256 << 10, Traits::RELOAD.within(1 << 10, 16 << 20);

        /// Whether the statement is profiled, as `[profiling]` says; see [Profiles](profiling.md).
        profile: bool = false, Traits::RELOAD;

        /// How often a statement that only reads is sent again when the backend fails under it.
        retry: Option<u16> = None, Traits::RELOAD.within(0, 10).default_text("2");

        /// Whether the statement is logged, with what was decided.
        log: bool = false, Traits::RELOAD;

        /// Tag that it bears in logs and statistics.
        set_tag: Option<String> = None, Traits::RELOAD;

        /// Pins of the session from this statement on, besides those that `account.pin` says.
        pin: Vec<PinRule> = Vec::new(), Traits::RELOAD;

        /// Whether rules behind it are left unread once it has matched. Otherwise they fill in what
        /// it has left open.
        stop: bool = true, Traits::RELOAD;

        /// How the proxy treats a statement that the proxy does not understand and that the rule might match. Examples
        /// are a text that is run and is no literal, a compound statement, and a string without an end. See
        /// [What a rule guarantees](rule-guarantees.md).
        when_unsure: Option<WhenUnsure> = None,
            Traits::RELOAD.nothing("`refuse` for rules that refuse, answer or rewrite, else `pass`");

        /// Whether it is counted only: nothing is done, and rules behind it are read as though it
        /// were not there.
        dry_run: bool = false, Traits::RELOAD;
    }
    below {
        /// What it is tried on when the configuration is checked.
        tests: Vec<RuleTestConfig>,
    }
    /// Where its statements go, and how they use connections.
    table routing: RoutingOverride = Traits::RELOAD, "what the session has" {
        cluster replicas consistency session lanes
    }
}

choices! {
    /// A day of the week.
    pub enum Day {
        /// Monday.
        Monday = "mon" also "monday",
        /// Tuesday.
        Tuesday = "tue" also "tuesday",
        /// Wednesday.
        Wednesday = "wed" also "wednesday",
        /// Thursday.
        Thursday = "thu" also "thursday",
        /// Friday.
        Friday = "fri" also "friday",
        /// Saturday.
        Saturday = "sat" also "saturday",
        /// Sunday.
        Sunday = "sun" also "sunday",
    }
}

choices! {
    /// What a percentage counts.
    pub enum Share {
        /// Sessions: one that is among them is for all of its statements.
        Session = "session",
        /// Statements, each for itself.
        Statement = "statement",
    }
}

choices! {
    /// What a client gets without a backend having been asked.
    pub enum AnswerForm {
        /// OK, no row changed.
        Ok = "ok",
        /// A result of `answer_columns` and `answer_rows`.
        Rows = "rows",
        /// The error of `answer_error`, `answer_sqlstate` and `answer_message`.
        Error = "error",
    }
}

choices! {
    /// What becomes of the results of statements that a rule sends besides.
    pub enum InjectedResults {
        /// Nothing.
        Discard = "discard",
        /// They are logged whole.
        Log = "log",
        /// For a statement in both `before` and `after`, the log has the changes, by the names in its first
        /// column. For other statements it has the whole result.
        Diff = "diff",
    }
}

choices! {
    /// What a limit counts together.
    pub enum LimitBy {
        /// All statements that match the rule.
        Rule = "rule",
        /// Those of one digest.
        Digest = "digest",
        /// Those of one user.
        Account = "account" also "user",
    }
}

choices! {
    /// What becomes of a statement that is not understood and that a rule might match.
    pub enum WhenUnsure {
        /// Its client gets error 1227.
        Refuse = "refuse",
        /// The rule decides by what is understood of it.
        Pass = "pass",
    }
}

choices! {
    /// What becomes of a statement over a limit.
    pub enum OnLimit {
        /// It waits.
        Queue = "queue" also "wait",
        /// Its client gets an error.
        Refuse = "refuse",
    }
}

settings! {
    /// Statements that test the rule, as many `[[rule.test]]` tables below it as are wanted: when the
    /// configuration is checked, at start, and at a reload. A test that fails is a fault.
    pub struct RuleTestConfig in [[rule.test]], "Tests of rules" {
        /// The statement.
        statement: SqlText = SqlText::default(), Traits::RELOAD.required();

        /// The user that sends it.
        user: Option<String> = None, Traits::RELOAD;

        /// The session's default schema.
        schema: Option<String> = None, Traits::RELOAD;

        /// The client's address.
        client: Option<IpAddr> = None, Traits::RELOAD.default_text("a Unix socket");

        /// The listener to which the client has connected.
        listener: Option<ListenAddress> = None, Traits::RELOAD;

        /// Tags besides those in the statement.
        tag: Vec<String> = Vec::new(), Traits::RELOAD;

        /// The time of day.
        time: TimeOfDay = TimeOfDay::NOON, Traits::RELOAD;

        /// The day of the week.
        day: Day = Day::Monday, Traits::RELOAD;

        /// Whether the rule takes the statement. One that a rule before it has stopped passes it.
        /// The rule's own `percentage` is taken to be met, that of other rules not to be.
        expect: Expect = Expect::Match, Traits::RELOAD;

        /// The statement that the rules make of it.
        rewritten: Option<SqlText> = None, Traits::RELOAD;

        /// The cluster to which the rules send it.
        cluster: Option<String> = None, Traits::RELOAD;

        /// The roles of backends to which they send it.
        role: Option<ReplicaUse> = None, Traits::RELOAD;

        /// The backend to which they send it.
        backend: Option<String> = None, Traits::RELOAD;
    }
}

choices! {
    /// What a test expects of its rule.
    pub enum Expect {
        /// It matches.
        Match = "match",
        /// It does not, or is not asked.
        Pass = "pass",
    }
}
