//! A CALL pins until the effects of its procedure are known, and then only by those effects.

use super::stage::{MARIADB_11, MYSQL, Said, Stage, err, ok};
use pilotfish_session::state::{Pin, Rules};
use wire::StatusFlags;

/// A session that has called `d1.p`, with this reply of the server.
fn called(text: &str, said: Said) -> Stage {
    let mut stage = Stage::new(MYSQL);
    stage.says("USE d1", ok().schema("d1"));
    stage.says(text, said);
    // The procedure may have changed LAST_INSERT_ID().
    assert!(stage.pins().contains("routine"), "{}", stage.pins());
    stage
}

/// Answers the state query with the procedure's body.
fn tell(stage: &mut Stage, body: &str) {
    let definition = format!("CREATE DEFINER=`u`@`%` PROCEDURE `p`(a INT)\n{body}");
    let text = |text| (253, false, Some(text));
    let cells = ["p", "STRICT_TRANS_TABLES", &definition, "utf8mb4", "c", "c"].map(text);
    stage.hears(&ok(), &cells);
}

#[test]
fn a_call_without_session_effects_does_not_pin() {
    for (text, said) in [
        ("CALL p(1)", ok()),
        ("CALL d1.p(1 + 1)", ok()),
        ("CALL `p`(1)", err(1062)),
    ] {
        let mut stage = called(text, said);
        while stage.asks() != "SHOW CREATE PROCEDURE `d1`.`p`" {
            stage.hears(&ok(), &[]);
        }
        tell(&mut stage, "INSERT INTO t VALUES (a)");
        assert_eq!(stage.asks(), "SELECT LAST_INSERT_ID()", "{text}");
        stage.hears_texts(&["7"]);
        assert_eq!((stage.pins(), stage.asks()), (String::new(), String::new()));
    }
}

#[test]
fn a_call_with_unknown_effects_pins_for_good() {
    let mut stage = called("CALL p(1)", ok());
    tell(&mut stage, "DO GET_LOCK('a', 1)");
    assert_eq!((&*stage.pins(), &*stage.asks()), ("routine", ""));
    // The account may not read the procedure's body.
    let mut stage = called("CALL p(1)", ok());
    let text = |text| (253, false, text);
    stage.hears(&ok(), &[text(Some("p")), text(Some("")), text(None)]);
    assert_eq!((&*stage.pins(), &*stage.asks()), ("routine", ""));
    // The procedure does not exist any more.
    let mut stage = called("CALL p(1)", ok());
    stage.refused();
    assert_eq!((&*stage.pins(), &*stage.asks()), ("routine", ""));
    for text in [
        "CALL p(own_function())",
        "CALL p(1); SELECT 1",
        "CALL `é`()",
    ] {
        let stage = called(text, ok());
        assert_eq!((&*stage.pins(), &*stage.asks()), ("routine", ""), "{text}");
    }
}

#[test]
fn effects_of_a_trigger_are_not_explained_by_a_procedure() {
    let mut stage = called("CALL p(1)", ok().changed());
    tell(&mut stage, "INSERT INTO t VALUES (a)");
    assert_eq!(stage.pins(), "routine");
    let mut stage = called("CALL p(1)", ok().changed());
    tell(&mut stage, "SET @x = a");
    assert_eq!(stage.pins(), "user_variable");
}

#[test]
fn assignments_of_one_call_do_not_explain_changes_of_another() {
    let open = || ok().status(StatusFlags::IN_TRANS);
    let mut stage = called("CALL writes(1)", open().changed());
    stage.says("CALL sets(2)", open());
    stage.says("COMMIT", ok());
    for _ in 0..2 {
        let body = match stage.asks().contains("writes") {
            true => "INSERT INTO t VALUES (a)",
            false => "SET @x = a",
        };
        tell(&mut stage, body);
    }
    assert!(stage.pins().contains("routine"), "{}", stage.pins());
}

#[test]
fn user_variables_that_a_procedure_sets_are_queried() {
    let mut stage = called("CALL p(1)", ok());
    tell(&mut stage, "SELECT 1, 2 INTO @x, @y");
    let asked = "SELECT HEX(@`x`),COLLATION(@`x`),@`x`,HEX(@`y`),COLLATION(@`y`),@`y`,\
                 LAST_INSERT_ID()";
    assert_eq!(stage.asks(), asked);
    stage.hears_texts(&["31", "binary", "1", "32", "binary", "2", "0"]);
    assert_eq!(stage.pins(), "");
    let set = stage.moves("SELECT @y");
    assert!(set.contains("@`y`=_binary 0x32"), "{set}");
}

#[test]
fn definitions_of_called_routines_are_fetched_too() {
    let mut stage = called("CALL p(1)", ok());
    tell(&mut stage, "BEGIN CALL q(); CALL d2.r(); CALL p(2); END");
    let mut asked = Vec::new();
    while stage.asks().starts_with("SHOW") {
        asked.push(stage.asks());
        tell(&mut stage, "SELECT 1");
    }
    asked.sort();
    assert_eq!(
        asked,
        [
            "SHOW CREATE PROCEDURE `d1`.`q`",
            "SHOW CREATE PROCEDURE `d2`.`r`"
        ]
    );
    stage.hears_texts(&["0"]);
    assert_eq!(stage.pins(), "");
}

#[test]
fn a_transaction_that_a_procedure_leaves_open_pins_the_session() {
    let mut stage = called("CALL p(1)", ok().status(StatusFlags::IN_TRANS));
    assert_eq!(
        (&*stage.pins(), &*stage.asks()),
        ("transaction,routine", "")
    );
    stage.says("COMMIT", ok());
    tell(&mut stage, "START TRANSACTION");
    stage.hears_texts(&["0"]);
    assert_eq!(stage.pins(), "");
}

#[test]
fn a_reset_ends_the_pin_and_a_rule_waives_it() {
    let mut stage = called("CALL p(1)", ok());
    stage.session.reset(&stage.table);
    assert_eq!(stage.pins(), "");
    let rules = Rules {
        waived: [Pin::Routine].into_iter().collect(),
        ..Rules::default()
    };
    let mut stage = Stage::with(MARIADB_11, rules);
    stage.says("CALL d1.p()", ok());
    assert_eq!(
        (&*stage.pins(), &*stage.asks()),
        ("", "SELECT LAST_INSERT_ID()")
    );
}
