//! User variables whose names are not ASCII: they are tracked if statements are UTF-8, and never confused
//! with names that a server may compare as equal.

use super::stage::{MARIADB_10, MYSQL, Stage, ok, rows};

const UNSET: &str = "SET @`ü`=_binary'',@`ü`=NULL";

#[test]
fn a_utf8_name_is_kept_and_restored() {
    for server in [MYSQL, MARIADB_10] {
        let mut stage = Stage::new(server);
        stage.says("SET @ü = 5, @имя = 'x', @変数 = 1.5", ok().changed());
        stage.says("SET @Ünlike_in_length = NOW()", ok().changed());
        assert_eq!(
            stage.asks(),
            "SELECT HEX(@`Ünlike_in_length`),COLLATION(@`Ünlike_in_length`),@`Ünlike_in_length`"
        );
        stage.hears_texts(&["31", "binary", "1"]);
        let set = stage.moves("SELECT @ü");
        assert!(set.contains("@`ü`=5"), "{set}");
        assert!(set.contains("@`имя`=_utf8mb4 0x78"), "{set}");
        assert!(set.contains("@`変数`=1.5"), "{set}");
    }
}

#[test]
fn user_variables_whose_names_may_be_equal_pin_the_session() {
    for (one, other) in [
        ("ü", "u"),
        ("u", "ü"),
        ("Ü", "ü"),
        ("имя", "Имя"),
        ("aß", "as"),
    ] {
        let mut stage = Stage::new(MYSQL);
        stage.says(&format!("SET @{one} = 1"), ok().changed());
        assert_eq!(stage.pins(), "");
        stage.says(&format!("SET @{other} = 2"), ok().changed());
        assert_eq!(stage.pins(), "user_variable", "{one} {other}");
    }
    for (one, other) in [
        ("имя", "год"),
        ("変数", "定数"),
        ("über", "unter"),
        ("a", "b"),
    ] {
        let mut stage = Stage::new(MYSQL);
        stage.says(&format!("SET @{one} = 1, @{other} = 2"), ok().changed());
        assert_eq!(stage.pins(), "", "{one} {other}");
    }
}

#[test]
fn a_user_variable_of_another_session_is_unset_if_a_similar_name_reads_it() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SET @ü = 5", ok().changed());
    stage.gives_way();
    assert_eq!(stage.set("SELECT @u"), UNSET);
    assert_eq!(
        stage.set("SET NAMES latin1"),
        UNSET,
        "while it can be written"
    );
    stage
        .restore("SET NAMES latin1")
        .expect("nothing contradicts");
    assert_eq!(stage.set("SELECT @u"), "");
}

#[test]
fn clearing_another_sessions_variables_keeps_the_own_ones() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SET @ü = 5", ok().changed());
    stage.gives_way();
    let connection = std::mem::replace(&mut stage, Stage::new(MYSQL)).connection;
    stage.says("SET @u = 7", ok().changed());
    stage.connection = connection;
    assert_eq!(stage.set("SELECT @u"), format!("{UNSET},@`u`=7"));
    assert_eq!(stage.set("SELECT @ö"), format!("{UNSET},@`u`=7"), "any");
    stage.restore("SELECT @u").expect("nothing contradicts");
    assert_eq!(stage.set("SELECT @u"), "");
}

#[test]
fn ones_own_variable_may_be_read_by_another_name() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SET @ü = 5", ok().changed());
    assert_eq!(stage.moves("SELECT @u"), "SET @`ü`=5");
}

#[test]
fn a_connection_that_reads_other_characters_is_reset_first() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET NAMES latin1",
        ok().var("character_set_client", "latin1")
            .var("character_set_results", "latin1")
            .var("collation_connection", "latin1_swedish_ci"),
    );
    let connection = std::mem::replace(&mut stage, Stage::new(MYSQL)).connection;
    stage.says("SET @ü = 5", ok().changed());
    stage.connection = connection;
    assert_eq!(stage.set("SELECT @ü"), "Reset");
    stage.connection.reset(&stage.table);
    assert_eq!(stage.set("SELECT @ü"), "SET @`ü`=5");
}

#[test]
fn a_session_that_leaves_utf8_stays_with_its_names() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SET @ü = 5", ok().changed());
    let leaves = "SET character_set_client = latin1";
    assert_eq!(stage.moves(leaves), "SET @`ü`=5", "later is too late");
    stage.restore(leaves).expect("nothing contradicts");
    stage.says(
        "SET character_set_client = latin1",
        ok().var("character_set_client", "latin1"),
    );
    assert_eq!(stage.pins(), "user_variable");
    stage.says("SELECT @`Ã¼`", rows(1));
    stage.says(
        "SET character_set_client = utf8mb4",
        ok().var("character_set_client", "utf8mb4"),
    );
    assert_eq!(stage.pins(), "");
}
