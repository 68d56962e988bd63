//! On a wide screen every view fits and leaves no gaps.

use super::*;

/// Finds cards that do not reach the right end of their container, with nothing beside them.
const HOLES: &str = r"
    const main = document.querySelector('main').getBoundingClientRect();
    const cards = [...document.querySelectorAll('main .card, main .tile')].filter(it => it.checkVisibility())
        .map(it => it.getBoundingClientRect());
    const right = Math.max(...cards.map(it => it.right));
    const alone = cards.filter(it => it.right < right - 2
        && !cards.some(other => other.left >= it.right && other.top < it.bottom && other.bottom > it.top));
    return {narrow: cards.length && right < Math.min(main.right, innerWidth) - 40, alone: alone.length};";

/// Finds content that must be scrolled sideways: tables with too many columns, the list of views.
const CUT: &str = r"
    return [...document.querySelectorAll('nav, main .scroll')].filter(it => it.scrollWidth > it.clientWidth)
        .map(it => it.tagName + ' ' + it.textContent.slice(0, 40));";

#[test]
fn a_wide_screen_shows_every_view_without_gaps_and_horizontal_scrolling() {
    under_load(|browser, _, address| {
        browser.become_desktop(1440, 900);
        for view in views(browser) {
            go(browser, address, &view);
            let fits = "innerWidth == 1440 && document.documentElement.scrollWidth <= 1440";
            browser.wait(&format!("{view} fits"), fits);
            let holes = browser.run(HOLES);
            assert_eq!(
                holes,
                serde_json::json!({"narrow": false, "alone": 0}),
                "{view}"
            );
            assert_eq!(browser.run(CUT), serde_json::json!([]), "{view} is cut");
        }
    });
}
