//! The metrics that an expression of Prometheus' language names, the labels that select their series, and the
//! labels of its result.

/// See the module.
#[derive(Debug, Default)]
pub struct Expression {
    /// The metrics, in the order in which the expression names them.
    pub metrics: Vec<Selector>,
    /// The labels that the result must have: those of `by (…)`, and those that a legend shows.
    pub labels: Vec<String>,
}

/// A metric's name with the matchers in the braces after it.
#[derive(Debug)]
pub struct Selector {
    pub name: String,
    pub matchers: Vec<Matcher>,
    /// Whether the metric stands in `rate(…)`.
    pub is_in_rate: bool,
}

#[derive(Debug)]
pub struct Matcher {
    pub label: String,
    pub operator: String,
    pub value: String,
}

impl Matcher {
    /// Whether the matcher names exactly one value: no pattern, no variable, no empty text.
    pub fn is_one_value(&self) -> bool {
        self.operator == "=" && !self.value.is_empty() && !self.value.starts_with('$')
    }
}

impl Expression {
    /// Reads an expression, and the `{{label}}`s of its legend.
    pub fn parse(text: &str, legend: &str) -> Self {
        let mut expression = Self::default();
        let shown = legend.split("{{").skip(1);
        let shown = shown.filter_map(|it| Some(it.split_once("}}")?.0.to_owned()));
        expression.labels.extend(shown);
        let mut rest = text;
        while let Some(start) = rest.find(|it: char| it.is_ascii_alphabetic()) {
            let (before, found) = rest.split_at(start);
            let (word, behind) = word(found);
            rest = behind;
            if ["pilotfish_", "process_"]
                .iter()
                .any(|it| word.starts_with(it))
            {
                let (matchers, behind) = matchers(behind);
                expression.metrics.push(Selector {
                    name: word.to_owned(),
                    matchers,
                    is_in_rate: before.ends_with('(') && behind.starts_with('['),
                });
                rest = behind;
            } else if word == "by" {
                let (labels, behind) = behind.split_once(')').expect("a list in parentheses");
                let labels = labels.trim_start_matches([' ', '(']).split(", ");
                expression.labels.extend(labels.map(str::to_owned));
                rest = behind;
            } else if word == "up" {
                // `up` is a metric of Prometheus itself.
                rest = matchers(behind).1;
            }
        }
        expression
    }
}

fn word(text: &str) -> (&str, &str) {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    text.split_at(text.find(|it| !is_part(it)).unwrap_or(text.len()))
}

/// The matchers in the braces at the start of a text, and the text after them.
fn matchers(text: &str) -> (Vec<Matcher>, &str) {
    let Some(mut rest) = text.strip_prefix('{') else {
        return (Vec::new(), text);
    };
    let mut all = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(behind) = rest.strip_prefix('}') {
            return (all, behind);
        }
        let (label, behind) = word(rest);
        let (operator, behind) = behind.split_once('"').expect("a value in quotes");
        let (value, behind) = quoted(behind);
        all.push(Matcher {
            label: label.to_owned(),
            operator: operator.to_owned(),
            value,
        });
        rest = behind;
    }
}

/// A text up to its closing quote, without the escapes, and the text after the quote.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut is_escaped = false;
    for (at, it) in text.char_indices() {
        match it {
            '"' if !is_escaped => return (value, &text[at + 1..]),
            '\\' if !is_escaped => is_escaped = true,
            it => {
                value.push(it);
                is_escaped = false;
            }
        }
    }
    panic!("no closing quote: {text}");
}

/// The series name of a line of the metrics page, and its labels with their values.
pub fn labels_of_series(line: &str) -> (&str, Vec<(String, String)>) {
    let (name, behind) = word(line);
    let all = matchers(behind).0.into_iter();
    (name, all.map(|it| (it.label, it.value)).collect())
}

#[test]
fn a_filter_expression_is_parsed() {
    let text =
        r#"sum by (le, way) (rate(pilotfish_x_bucket{a="b",c=~"$c"}[5m])) / process_y{d!=""}"#;
    let expression = Expression::parse(text, "{{way}} of {{e}}");
    assert_eq!(expression.labels, ["way", "e", "le", "way"]);
    let [one, two] = &expression.metrics[..] else {
        panic!("{expression:?}");
    };
    assert_eq!((&*one.name, one.is_in_rate), ("pilotfish_x_bucket", true));
    let is_value: Vec<_> = one.matchers.iter().map(Matcher::is_one_value).collect();
    assert_eq!(is_value, [true, false]);
    assert_eq!((&*two.name, two.is_in_rate), ("process_y", false));
    assert!(!two.matchers[0].is_one_value());
}
